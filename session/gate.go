package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/masking"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// layers returns the rulesets that judge calls of t now. nil means what they judge starts
// no program.
func (s *Session) layers(t tool.Tool) (*gate.Layers, error) {
	return s.m.policy.Layers(&s.rules, s.who(), s.id, t)
}

// who is the session as blocks of rules see it.
func (s *Session) who() permission.Who {
	return permission.Who{Agent: s.Agent(), Unattended: s.m.alone && !gate.Asks(s.approver)}
}

// readable returns what reports whether a tool that lists or searches may show a path.
func (s *Session) readable(name string) func(path string) bool {
	return s.m.policy.Readable(&s.rules, s.who(), s.behavior.paths, name)
}

// guard makes a panic on the way an error of the call: it must not end the
// other sessions of the process. It is deferred.
func (s *Session) guard(inv *invocation) {
	if p := recover(); p != nil {
		s.m.log.Error("a tool call panicked", "tool", inv.Name, "session", s.id, "panic", p, "stack", string(debug.Stack()))
		inv.end(CallResult{Result: tool.Errorf("%s failed with an internal error: %v", inv.Name, p)})
	}
}

func (s *Session) admitGuarded(ctx context.Context, inv *invocation, wait bool) {
	defer s.guard(inv)
	s.admit(ctx, inv, wait)
}

// admit looks up the tool of a call, reads its arguments and judges it: then the
// call is to be run, or over. Without wait it is neither if somebody has to be
// asked.
func (s *Session) admit(ctx context.Context, inv *invocation, wait bool) {
	if inv.start.IsZero() {
		inv.start = time.Now()
	}
	if err := s.over(); err != nil {
		inv.end(s.refuseUnjudged(inv.ToolCall, "%s is refused, since %v", inv.Name, err))
		return
	}
	if cause := context.Cause(ctx); errors.As(cause, new(InterruptedError)) {
		inv.end(s.refuseUnjudged(inv.ToolCall, "%s was not run: %v", inv.Name, cause))
		return
	}
	if inv.tool = s.tools.Get(inv.Name); inv.tool == nil {
		inv.end(CallResult{Result: tool.Errorf("there is no tool %q; the tools are: %s", inv.Name, strings.Join(s.tools.Names(), ", "))})
		return
	}
	args := json.RawMessage(inv.Arguments)
	if inv.prepared == nil {
		if err := checkObject(args); err != nil {
			inv.end(CallResult{Result: tool.Errorf("the arguments of %s are not a JSON object: %s", inv.Name, errtext.Of(err))})
			return
		}
	}
	layers, err := s.layers(inv.tool)
	if err != nil {
		inv.end(s.refuseUnjudged(inv.ToolCall, "%s is refused, since the permission rules can't be read: %s", inv.Name, errtext.Of(err)))
		return
	}
	// A tool that is denied whatever its arguments gets no better hint.
	if name := gate.RuledAs(inv.tool.Spec()); layers.DeniesAll(name) {
		whole := []permission.Value{{Tool: name, Text: name}}
		decision := layers.Decide(whole)
		s.m.note(s.auditRecord(inv.ToolCall, whole, decision, layers))
		inv.end(refuse("%s", decision.Reason()))
		return
	}
	if inv.prepared == nil {
		inv.prepared, err = tool.Prepare(inv.tool, args)
	}
	var values []permission.Value
	if err == nil {
		values, err = inv.prepared.Values()
	}
	if err != nil {
		inv.end(s.refuseUnjudged(inv.ToolCall, "%s is refused: %s", inv.Name, errtext.Of(err)))
		return
	}
	if !wait && !inv.follows() && layers.Judge(values).Action == permission.Ask {
		return
	}
	s.admitJudged(ctx, inv, layers, values)
}

// admitJudged judges a call of these values.
func (s *Session) admitJudged(ctx context.Context, inv *invocation, layers *gate.Layers, values []permission.Value) {
	verdict := s.judge(ctx, layers, inv, values)
	if !verdict.allowed {
		inv.end(verdict.refusal)
		return
	}
	if ctx.Err() != nil {
		inv.end(CallResult{Result: tool.Errorf("%s was not run: %s", inv.Name, errtext.Of(context.Cause(ctx)))})
		return
	}
	inv.call = &tool.Call{
		ID:        inv.ID,
		SessionID: s.id,
		Agent:     s.Agent(),
		Began:     s.Record().CreatedAt,
		MessageID: inv.messageID,
		Args:      json.RawMessage(inv.Arguments),
		Values:    values,
		Rules:     verdict.rules(inv),
		Approved:  verdict.approved,
		Judge: func(ctx context.Context, value permission.Value) error {
			return s.judgeLate(ctx, inv.ToolCall, value)
		},
		Readable: s.readable(inv.Name),
		Caller:   inv,
	}
}

// judgeLate judges a value that shows up while a call runs, as a call of the
// value's tool that the running one makes.
func (s *Session) judgeLate(ctx context.Context, running model.ToolCall, value permission.Value) error {
	args, err := json.Marshal(map[string]string{"value": value.Text})
	if err != nil {
		return err
	}
	rules, err := s.layers(nil)
	if err != nil {
		return err
	}
	inv := &invocation{ToolCall: model.ToolCall{ID: running.ID, Name: value.Tool, Arguments: string(args)}}
	if verdict := s.judge(ctx, rules, inv, []permission.Value{value}); !verdict.allowed {
		return errors.New(verdict.refusal.Text)
	}
	return nil
}

// over returns an error if the session, or one with which it ends, has ended.
func (s *Session) over() error {
	for at := s; at != nil; at = at.parent {
		r := at.Record()
		if r.Status.Ended() {
			return fmt.Errorf("session %s is %s", at.id, r.Status)
		}
		if r.Detached {
			return nil
		}
	}
	return nil
}

// verdict is what the gate says of a call.
type verdict struct {
	allowed  bool
	refusal  CallResult   // what the model is told where it is not
	approved bool         // by a person
	second   bool         // by a second one, whom the policy wants
	layers   *gate.Layers // by which it was judged last
}

// rules returns the rules that hold for the call while it runs.
func (v *verdict) rules(inv *invocation) *permission.Layers {
	if v.second || inv.follows() {
		return &v.layers.Layers
	}
	return v.layers.Strictly()
}

// judge decides by the rules on a call, which need not be one of a tool. What the audit
// log does not take is refused.
func (s *Session) judge(ctx context.Context, rules *gate.Layers, inv *invocation, values []permission.Value) verdict {
	call := inv.ToolCall
	decision := rules.Judge(values)
	record := s.auditRecord(call, values, decision, rules)
	switch {
	case decision.Action == permission.Allow:
		return s.recorded(ctx, inv, record, verdict{allowed: true, layers: rules})
	case decision.Action != permission.Ask:
		s.m.note(record)
		return verdict{refusal: refuse("%s", rules.Reason(decision))}
	case inv.follows():
		return s.recorded(ctx, inv, record.Answered(event.Approved, "the call of "+inv.tool.Spec().Follows), verdict{allowed: true, layers: rules})
	}
	second, reason := s.secondPerson(ctx, rules, values), rules.Reason(decision)
	if second != nil {
		reason += " " + second.Text()
		record.AskedBy = names(second.AskedBy)
	}
	switch {
	case second != nil && (second.Nobody() || !s.attended()):
		s.m.note(record.Answered(event.Denied, "nobody"))
		return verdict{refusal: refuse("%s No second person can answer here, so the call is refused.", reason)}
	case second == nil && s.approver == nil && s.m.unattended:
		s.m.note(record.Answered(event.Denied, "nobody"))
		return verdict{refusal: s.unanswered(decision, reason+" Nobody can answer here, so the call is refused.")}
	case ctx.Err() != nil:
		s.m.note(record.Answered(event.Cancelled, ""))
		return verdict{refusal: refuse("%s was not run: %s", call.Name, errtext.Of(context.Cause(ctx)))}
	}
	allowed := func() bool {
		rules, err := s.layers(inv.tool)
		return err == nil && rules.Judge(values).Action == permission.Allow
	}
	answered, err := s.ask(ctx, &gate.Request{
		ID:             store.NewID("apr"),
		SessionID:      s.id,
		ToolCallID:     call.ID,
		Agent:          s.Agent(),
		Tool:           call.Name,
		Arguments:      secrets.MaskJSONAsked(call.Arguments),
		Reason:         secrets.MaskAsked(reason),
		Patterns:       masking.Asked(permission.Patterns(values)),
		AlwaysPatterns: masking.Always(rules.AlwaysPatterns(call.Name, values)),
		SecondPerson:   second,
	}, allowed)
	if err != nil {
		s.m.note(record.Answered(event.Cancelled, ""))
		return verdict{refusal: refuse("%s was not approved: %v", call.Name, err)}
	}
	record = record.Answered(answered.Outcome, answered.AnsweredBy)
	if record.Time = time.Now(); answered.Always {
		record.Always = gate.AlwaysRules(answered.AlwaysPatterns)
	}
	if answered.Outcome != event.Approved {
		s.m.note(record)
		return verdict{refusal: s.unapproved(ctx, call, decision, answered)}
	}
	v := s.recorded(ctx, inv, record, verdict{allowed: true, approved: answered.AnsweredBy != gate.ByRules})
	if !v.allowed {
		return v
	}
	return s.judgeAgain(ctx, inv, values, answered, v)
}

// judgeAgain judges a call that was approved. What happened while it waited counts: an end,
// what its paths lead to by now, a deny, which no answer lifts, and who has told the session
// what to do.
func (s *Session) judgeAgain(ctx context.Context, inv *invocation, values []permission.Value, answered *store.Approval, v verdict) verdict {
	call := inv.ToolCall
	if err := s.over(); err != nil {
		return verdict{refusal: s.refuseUnjudged(call, "%s is refused, since %v", call.Name, err)}
	}
	rules, err := s.layers(inv.tool)
	if err != nil {
		return verdict{refusal: s.refuseUnjudged(call, "%s is refused, since the permission rules can't be read: %s", call.Name, errtext.Of(err))}
	}
	now := values
	if inv.prepared != nil {
		if now, err = inv.prepared.Values(); err != nil {
			return verdict{refusal: s.refuseUnjudged(call, "%s is refused: %s", call.Name, errtext.Of(err))}
		}
	}
	for _, values := range [][]permission.Value{values, now} {
		if decision := rules.Judge(values); decision.Action == permission.Deny {
			s.m.note(s.auditRecord(call, values, decision, rules))
			return verdict{refusal: refuse("%s", rules.Reason(decision))}
		}
		second := s.secondPerson(ctx, rules, values)
		if err := second.Admits(answered.AnsweredAs); err != nil {
			return verdict{refusal: s.refuseUnjudged(call, "%s is refused: %v", call.Name, err)}
		}
		v.second = v.second || second != nil
	}
	if answered.Always {
		if err := s.m.policy.AllowAlways(&s.rules, call.Name, answered.AlwaysPatterns); err != nil {
			s.m.log.Error("the rule for \"always\" was not stored", "session", s.id, "err", err)
		}
	}
	v.layers = rules
	return v
}

// unapproved refuses a call that was asked about, and says why.
func (s *Session) unapproved(ctx context.Context, call model.ToolCall, decision permission.Decision, answered *store.Approval) CallResult {
	switch {
	case answered.Outcome == event.Cancelled && ctx.Err() != nil:
		return refuse("%s was not run: %s", call.Name, errtext.Of(context.Cause(ctx)))
	case answered.Outcome == event.Cancelled:
		return refuse("%s was not approved: %s", call.Name, cmp.Or(answered.Feedback, "the question was cancelled"))
	case answered.Outcome == event.Expired:
		return s.unanswered(decision, fmt.Sprintf("%s was not approved: nobody has answered within %s.", call.Name, errtext.Duration(s.m.limits.Approval)))
	case answered.Feedback != "":
		return refuse("The user denied %s: %s", call.Name, answered.Feedback)
	default:
		return refuse("The user denied %s.", call.Name)
	}
}

// unanswered refuses a call that nobody has answered, with the rule that would allow it.
func (s *Session) unanswered(d permission.Decision, why string) CallResult {
	res := refuse("%s%s", why, s.m.policy.Hint(d))
	res.Rule = gate.RuleFor(d)
	return res
}

// run runs a call within its time limit. Its frame is small: see [Turn.Run].
func (s *Session) run(ctx context.Context, inv *invocation) {
	defer s.guard(inv)
	ctx, cancel, ready := s.ready(ctx, inv)
	if !ready {
		return
	}
	defer cancel()
	res, err := inv.prepared.Run(ctx, inv.call)
	inv.ran(ctx, &res, err)
}

// ran makes what the tool has returned the outcome of the call.
func (inv *invocation) ran(ctx context.Context, res *tool.Result, err error) {
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		*res = tool.Errorf("%s: %s", inv.Name, errtext.Of(err))
	}
	inv.end(CallResult{Result: *res})
}

// ready returns the context of a call that is to be run; else the call is over.
func (s *Session) ready(ctx context.Context, inv *invocation) (_ context.Context, cancel context.CancelFunc, ready bool) {
	spec := inv.tool.Spec()
	if !spec.ReadOnly && !spec.Delegates {
		if err := s.flush(ctx); err != nil { // what is changed is known to have been begun
			inv.end(CallResult{Result: tool.Errorf("%s was not run: %s", inv.Name, errtext.Of(err))})
			return nil, nil, false
		}
	}
	inv.untold = !spec.ReadOnly && !spec.Delegates && !spec.TellsChanges && spec.Follows == ""
	if spec.OwnTimeLimit {
		return ctx, func() {}, true
	}
	ctx, cancel = context.WithTimeoutCause(ctx, s.m.limits.ToolCall, toolTimeout(s.m.limits.ToolCall))
	return ctx, cancel, true
}

// toolTimeout is the error of a call whose time is over.
type toolTimeout time.Duration

func (t toolTimeout) Error() string {
	return fmt.Sprintf("its time limit of %s has passed", errtext.Duration(time.Duration(t)))
}

func refuse(format string, args ...any) CallResult {
	return CallResult{Result: tool.Errorf(format, args...), Refused: true}
}

func checkObject(args json.RawMessage) error {
	if json.Valid(args) && bytes.HasPrefix(bytes.TrimLeft(args, " \t\r\n"), []byte{'{'}) {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return err
	}
	if object == nil {
		return errors.New("they are null")
	}
	return nil
}
