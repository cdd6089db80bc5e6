package toolcall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/masking"
	"github.com/agentworker/worker/tool"
)

// layers returns the rules for calls of t now. With a nil t, what they decide on starts no
// program.
func (s *Calls) layers(t tool.Tool) (*gate.Layers, error) {
	return s.p.Policy.Layers(&s.Rules, s.who(), s.log.ID, t)
}

// who is the session as blocks of rules see it.
func (s *Calls) who() permission.Who {
	return permission.Who{Agent: s.log.Agent(), Unattended: s.p.Alone && !approval.Asks(s.approver)}
}

// Readable returns what reports whether a tool that lists or searches may show a path.
func (s *Calls) Readable(name string) func(path string) bool {
	return s.p.Policy.Readable(&s.Rules, s.who(), s.Paths, name)
}

// ReadableFile reports whether the session may read the file at path, which is slash-separated
// and relative to Paths.
func (s *Calls) ReadableFile(path string) bool { return s.Readable(toolcatalog.ReadFile)(path) }

// Denied returns why the rules deny the session a value, whoever is asked; nil means they
// don't.
func (s *Calls) Denied(value permission.Value) error {
	rules, err := s.layers(nil)
	if err != nil {
		return err
	}
	if d := rules.Decide([]permission.Value{value}); d.Action == permission.Deny {
		return errors.New(rules.Reason(d))
	}
	return nil
}

// verdict is what the gate decides on a call.
type verdict struct {
	allowed  bool
	refusal  Result       // what the model reads if it is not allowed
	approved bool         // by a person
	second   bool         // by a second person, as the policy demands
	layers   *gate.Layers // the rules of the last decision
}

// rules returns the rules that hold for the call while it runs.
func (v *verdict) rules(c *Call) *permission.Layers {
	if v.second || c.follows() {
		return &v.layers.Layers
	}
	return v.layers.Strictly()
}

// decideLate decides on a value that shows up while a call runs, as on a call of the value's
// tool that the running one makes.
func (s *Calls) decideLate(ctx context.Context, callID string, value permission.Value) error {
	args, err := json.Marshal(map[string]string{"value": value.Text})
	if err != nil {
		return err
	}
	rules, err := s.layers(nil)
	if err != nil {
		return err
	}
	c := &Call{ToolCall: model.ToolCall{ID: callID, Name: value.Tool, Arguments: string(args)}}
	if verdict := s.decide(ctx, rules, c, []permission.Value{value}); !verdict.allowed {
		return errors.New(verdict.refusal.Text)
	}
	return nil
}

// DecideAlone decides on a value that shows up while no call runs, as the call that has started
// it would. Nobody is asked.
func (s *Calls) DecideAlone(ctx context.Context, callID string, value permission.Value) error {
	rules, err := s.layers(nil)
	if err != nil {
		return err
	}
	values := []permission.Value{value}
	decision := rules.Decide(values)
	c := &Call{ToolCall: model.ToolCall{ID: callID, Name: value.Tool}}
	entry := s.Audit.decision(c, values, decision, rules)
	switch decision.Action {
	case permission.Allow:
		if v := s.Audit.stored(ctx, c, entry, verdict{allowed: true}); !v.allowed {
			return errors.New(v.refusal.Text)
		}
		return nil
	case permission.Ask:
		s.Audit.note(entry.Answered(event.Denied, "nobody"))
		return errors.New(rules.Reason(decision) + " Nobody is asked on behalf of a command in the background.")
	}
	s.Audit.note(entry)
	return errors.New(rules.Reason(decision))
}

// decide decides by the rules on a call, which need not be one of a tool. A call that the
// audit log does not take is refused.
func (s *Calls) decide(ctx context.Context, rules *gate.Layers, c *Call, values []permission.Value) verdict {
	decision := c.asked(rules.Decide(values))
	entry := s.Audit.decision(c, values, decision, rules)
	switch {
	case decision.Action == permission.Allow:
		return s.Audit.stored(ctx, c, entry, verdict{allowed: true, layers: rules})
	case decision.Action != permission.Ask:
		s.Audit.note(entry)
		return verdict{refusal: refuse("%s", rules.Reason(decision))}
	case c.follows():
		return s.Audit.stored(ctx, c, entry.Answered(event.Approved, "the call of "+c.tool.Spec().Follows), verdict{allowed: true, layers: rules})
	}
	second, reason := s.secondPerson(ctx, rules, values), rules.Reason(decision)+c.hookAsks()
	switch allow, deny := (hooked{s}).answer(ctx, c, decision); {
	case deny != nil:
		return verdict{refusal: hooked{s}.hookDenies(c, values, deny)}
	case allow != nil && second == nil:
		return s.Audit.stored(ctx, c, entry.Answered(event.Approved, allow.Hook.By()), verdict{allowed: true, layers: rules})
	}
	over, left := (reviewed{s}).decide(ctx, c, values, decision, second, entry)
	if over != nil {
		return *over
	}
	reason += left
	if second != nil {
		reason += " " + second.Text()
		for _, p := range second.AskedBy {
			entry.AskedBy = append(entry.AskedBy, string(p))
		}
	}
	attended, where := s.attended(ctx, second != nil)
	switch {
	case second != nil && (second.Nobody() || !attended):
		s.Audit.note(entry.Answered(event.Denied, "nobody"))
		return verdict{refusal: refuse("%s No second person can answer here, so the call is refused.", reason)}
	case !attended:
		s.Audit.note(entry.Answered(event.Denied, "nobody"))
		return verdict{refusal: s.unanswered(decision, reason+" Nobody can answer here, so the call is refused.")}
	case ctx.Err() != nil:
		s.Audit.note(entry.Answered(event.Cancelled, ""))
		return verdict{refusal: refuse("%s was not run: %s", c.Name, errtext.Of(context.Cause(ctx)))}
	}
	allowed := func() bool {
		rules, err := s.layers(c.tool)
		return err == nil && c.hooks.Ask == nil && rules.Decide(values).Action == permission.Allow
	}
	question := s.describe(c, values)
	entry.Question = question.Title
	answered, err := s.ask(ctx, &approval.Approval{
		ToolCallID:     c.ID,
		Tool:           c.Name,
		Question:       question,
		Arguments:      secrets.MaskJSONAsked(c.Arguments),
		Reason:         secrets.MaskAsked(reason),
		Patterns:       masking.Asked(permission.Patterns(values)),
		AlwaysPatterns: masking.Always(rules.AlwaysPatterns(c.Name, values)),
		SecondPerson:   second,
		Where:          where,
	}, allowed)
	if err != nil {
		s.Audit.note(entry.Answered(event.Cancelled, ""))
		return verdict{refusal: refuse("%s was not approved: %v", c.Name, err)}
	}
	entry = entry.Answered(answered.Outcome, answered.AnsweredBy)
	if entry.Time = time.Now(); answered.Always {
		entry.Always = gate.AlwaysRules(answered.AlwaysPatterns)
	}
	if answered.Outcome != event.Approved {
		s.Audit.note(entry)
		return verdict{refusal: s.unapproved(ctx, c, decision, answered)}
	}
	if answered.AnsweredBy != approval.ByRules && s.changed(c) {
		return verdict{refusal: s.Audit.refuseUndecided(c, "%s was approved, but what it would do has changed while the question was open: call it again, and somebody is asked anew", c.Name)}
	}
	v := s.Audit.stored(ctx, c, entry, verdict{allowed: true, approved: answered.AnsweredBy != approval.ByRules})
	if !v.allowed {
		return v
	}
	return s.decideAgain(ctx, c, values, answered, v)
}

// decideAgain decides again on a call that was approved, because things may have changed while
// it waited. The session may have ended, the call's paths may lead elsewhere, and somebody else
// may have asked for the work. A new deny holds, since no answer lifts one.
func (s *Calls) decideAgain(ctx context.Context, c *Call, values []permission.Value, answered *approval.Approval, v verdict) verdict {
	if err := s.log.Over(); err != nil {
		return verdict{refusal: s.Audit.refuseUndecided(c, "%s is refused, since %v", c.Name, err)}
	}
	rules, err := s.layers(c.tool)
	if err != nil {
		return verdict{refusal: s.Audit.refuseUndecided(c, unreadable, c.Name, errtext.Of(err))}
	}
	now := values
	if c.Prepared != nil {
		if now, err = c.Prepared.Values(); err != nil {
			return verdict{refusal: s.Audit.refuseUndecided(c, "%s is refused: %s", c.Name, errtext.Of(err))}
		}
	}
	for _, values := range [][]permission.Value{values, now} {
		if decision := rules.Decide(values); decision.Action == permission.Deny {
			s.Audit.note(s.Audit.decision(c, values, decision, rules))
			return verdict{refusal: refuse("%s", rules.Reason(decision))}
		}
		second := s.secondPerson(ctx, rules, values)
		if err := second.Admits(answered.AnsweredAs); err != nil {
			return verdict{refusal: s.Audit.refuseUndecided(c, "%s is refused: %v", c.Name, err)}
		}
		v.second = v.second || second != nil
	}
	if answered.Always {
		if err := s.p.Policy.AllowAlways(&s.Rules, c.Name, answered.AlwaysPatterns); err != nil {
			s.p.Log.Error("the rule for \"always\" was not stored", "session", s.log.ID, "err", err)
		}
	}
	v.layers = rules
	return v
}

// unapproved refuses a call that somebody was asked about, and says why.
func (s *Calls) unapproved(ctx context.Context, c *Call, decision permission.Decision, answered *approval.Approval) Result {
	switch {
	case answered.Outcome == event.Cancelled && ctx.Err() != nil:
		return refuse("%s was not run: %s", c.Name, errtext.Of(context.Cause(ctx)))
	case answered.Outcome == event.Cancelled:
		return refuse("%s was not approved: %s", c.Name, cmp.Or(answered.Feedback, "the question was cancelled"))
	case answered.Outcome == event.Expired:
		return s.unanswered(decision, fmt.Sprintf("%s was not approved: nobody has answered within %s.", c.Name, errtext.Duration(s.p.AnswerTime)))
	case answered.Feedback != "":
		return refuse("The user denied %s: %s", c.Name, answered.Feedback)
	default:
		return refuse("The user denied %s.", c.Name)
	}
}

// unanswered refuses a call that nobody has answered, with the rule that would allow it.
func (s *Calls) unanswered(d permission.Decision, why string) Result {
	res := refuse("%s%s", why, s.p.Policy.Hint(d))
	res.Rule = gate.RuleFor(d)
	return res
}
