package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// StaticRules are the user's rules: the permissions.jsonc of the state folder.
type StaticRules interface {
	// Rules returns the rules in force. With an error they are the last good
	// ones; nil and an error deny every call.
	Rules() (*permission.Ruleset, error)

	// Allow adds rules that allow the patterns.
	Allow(tool string, patterns []string) error
}

// CallResult is the outcome of a tool call.
type CallResult struct {
	tool.Result
	// Refused says that the gate did not let the call through: the tool has
	// not run.
	Refused bool
}

// invoke takes a tool call through the gate: it announces the call, judges it,
// asks where the rules say so, runs it, and announces the outcome. It is the
// only caller of a tool.
func (s *Session) invoke(ctx context.Context, call model.ToolCall, messageID string) CallResult {
	start := time.Now()
	res := s.guard(ctx, call, messageID)
	s.publish(event.ToolCallEnd{
		ToolCallID: call.ID,
		ToolName:   call.Name,
		Result:     res.Text,
		IsError:    res.IsError,
		Truncated:  res.Truncated,
		Refused:    res.Refused,
		DurationMs: time.Since(start).Milliseconds(),
	})
	return res
}

// guard makes a panic on the way an error of the call: it must not end the
// other sessions of the process.
func (s *Session) guard(ctx context.Context, call model.ToolCall, messageID string) (res CallResult) {
	defer func() {
		if p := recover(); p != nil {
			s.m.log.Error("a tool call panicked", "tool", call.Name, "session", s.id, "panic", p, "stack", string(debug.Stack()))
			res = CallResult{Result: tool.Errorf("%s failed with an internal error: %v", call.Name, p)}
		}
	}()
	return s.judgeAndRun(ctx, call, messageID)
}

func (s *Session) judgeAndRun(ctx context.Context, call model.ToolCall, messageID string) CallResult {
	if err := s.over(); err != nil {
		return s.refuseUnjudged(call, "%s is refused, since %v", call.Name, err)
	}
	t, ok := s.tools[call.Name]
	if !ok {
		return CallResult{Result: tool.Errorf("there is no tool %q; there are: %s", call.Name, strings.Join(s.toolNames, ", "))}
	}
	args := json.RawMessage(call.Arguments)
	if err := checkObject(args); err != nil {
		return CallResult{Result: tool.Errorf("the arguments of %s are no JSON object: %s", call.Name, errtext.Of(err))}
	}
	layers, err := s.layers()
	if err != nil {
		return s.refuseUnjudged(call, "%s is refused, since the permission rules can't be read: %s", call.Name, errtext.Of(err))
	}
	// A tool that is denied whatever its arguments gets no better hint.
	if slices.ContainsFunc(layers.Agents, func(r *permission.Ruleset) bool { return r.DeniesAll(call.Name) }) {
		whole := []permission.Value{{Tool: call.Name, Text: call.Name}}
		decision := layers.Decide(whole)
		s.audit(s.auditEntry(call, whole, decision))
		return refuse("%s", decision.Reason())
	}
	values, err := t.Values(args)
	if err != nil {
		return s.refuseUnjudged(call, "%s is refused: %s", call.Name, errtext.Of(err))
	}
	if res, ok := s.judge(ctx, layers, call, values); !ok {
		return res
	}
	if err := ctx.Err(); err != nil {
		return CallResult{Result: tool.Errorf("%s was not run: %s", call.Name, errtext.Of(context.Cause(ctx)))}
	}
	return CallResult{Result: s.run(ctx, t, &tool.Call{
		ID:        call.ID,
		SessionID: s.id,
		MessageID: messageID,
		Args:      args,
		Values:    values,
		Readable:  s.readable,
	})}
}

// over returns an error if the session, or one that it descends from, has ended.
func (s *Session) over() error {
	for at := s; at != nil; at = at.parent {
		if status := at.Record().Status; status.Ended() {
			return fmt.Errorf("session %s is %s", at.id, status)
		}
	}
	return nil
}

// judge decides on a call. It reports false with what the model is told where
// the call may not run.
func (s *Session) judge(ctx context.Context, layers *permission.Layers, call model.ToolCall, values []permission.Value) (CallResult, bool) {
	decision := layers.Decide(values)
	entry := s.auditEntry(call, values, decision)
	switch {
	case decision.Action == permission.Allow:
		s.audit(entry)
		return CallResult{}, true
	case decision.Action != permission.Ask:
		s.audit(entry)
		return refuse("%s", decision.Reason()), false
	case s.approver == nil && s.m.unattended:
		s.audit(entry.answered(event.Denied, "nobody"))
		return refuse("%s Nobody can answer here, so the call is refused.%s", decision.Reason(), s.m.ruleHint(decision.Value)), false
	case ctx.Err() != nil:
		s.audit(entry.answered(event.Cancelled, ""))
		return refuse("%s was not run: %s", call.Name, errtext.Of(context.Cause(ctx))), false
	}
	allowed := func() bool {
		layers, err := s.layers()
		return err == nil && layers.Decide(values).Action == permission.Allow
	}
	answered, err := s.ask(ctx, &ApprovalRequest{
		ID:             newID("apr"),
		SessionID:      s.id,
		ToolCallID:     call.ID,
		Agent:          s.agent,
		Tool:           call.Name,
		Arguments:      call.Arguments,
		Decision:       decision,
		Patterns:       permission.Patterns(values),
		AlwaysPatterns: alwaysPatterns(layers, call.Name, values),
	}, allowed)
	if err != nil {
		s.audit(entry.answered(event.Cancelled, ""))
		return refuse("%s was not approved: %v", call.Name, err), false
	}
	s.audit(entry.answered(answered.Outcome, answered.AnsweredBy))
	if answered.Outcome != event.Approved {
		return s.unapproved(ctx, call, decision, answered), false
	}
	// What happened while the call waited counts: an end, and a deny, which no
	// answer lifts.
	if err := s.over(); err != nil {
		return s.refuseUnjudged(call, "%s is refused, since %v", call.Name, err), false
	}
	if layers, err := s.layers(); err != nil {
		return s.refuseUnjudged(call, "%s is refused, since the permission rules can't be read: %s", call.Name, errtext.Of(err)), false
	} else if decision := layers.Decide(values); decision.Action == permission.Deny {
		s.audit(s.auditEntry(call, values, decision))
		return refuse("%s", decision.Reason()), false
	}
	if answered.Always {
		if err := s.allowAlways(call.Name, answered.AlwaysPatterns); err != nil {
			s.m.log.Error("the rule for \"always\" was not stored", "session", s.id, "err", err)
		}
		s.m.rechecks.tell()
	}
	return CallResult{}, true
}

// unapproved refuses a call that was asked about, and says why.
func (s *Session) unapproved(ctx context.Context, call model.ToolCall, decision permission.Decision, answered *Approval) CallResult {
	switch {
	case answered.Outcome == event.Cancelled && ctx.Err() != nil:
		return refuse("%s was not run: %s", call.Name, errtext.Of(context.Cause(ctx)))
	case answered.Outcome == event.Cancelled:
		return refuse("%s was not approved: %s", call.Name, cmp.Or(answered.Feedback, "the question was cancelled"))
	case answered.Outcome == event.Expired:
		return refuse("%s was not approved: nobody has answered within %s.%s", call.Name, errtext.Duration(s.m.limits.Approval), s.m.ruleHint(decision.Value))
	case answered.Feedback != "":
		return refuse("The user denied %s: %s", call.Name, answered.Feedback)
	default:
		return refuse("The user denied %s.", call.Name)
	}
}

// layers returns the rulesets that judge the session's calls now.
func (s *Session) layers() (*permission.Layers, error) {
	static, err := s.m.static.Rules()
	if static == nil && err != nil {
		return nil, err
	}
	s.m.tellRules(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	return &permission.Layers{Agents: s.rulesets, Static: static, Runtime: s.runtime}, nil
}

// tellRules logs what is wrong with the static rules, once for each thing, and
// that nothing is any more.
func (m *Manager) tellRules(err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	m.mu.Lock()
	before := m.rulesSaid
	m.rulesSaid = said
	m.mu.Unlock()
	switch {
	case said == before:
	case err != nil:
		m.log.Error("the last good permission rules stay in force", "err", err)
	default:
		m.log.Info("the permission rules are in force again as they are written")
	}
}

// readable reports whether read_file would not be denied for the path.
func (s *Session) readable(path string) bool {
	layers, err := s.layers()
	if err != nil {
		return false
	}
	values, err := s.m.paths.PathValues("read_file", path)
	if err != nil {
		return false
	}
	return layers.Decide(values).Action != permission.Deny
}

// run runs a tool within its time limit.
func (s *Session) run(ctx context.Context, t tool.Tool, call *tool.Call) tool.Result {
	spec := t.Spec()
	if !spec.OwnTimeLimit {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.m.limits.ToolCall, fmt.Errorf("its time limit of %s has passed", errtext.Duration(s.m.limits.ToolCall)))
		defer cancel()
	}
	res, err := t.Run(ctx, call)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return tool.Errorf("%s: %s", spec.Name, errtext.Of(err))
	}
	return res
}

// refuseUnjudged refuses a call that no rule was asked about.
func (s *Session) refuseUnjudged(call model.ToolCall, format string, args ...any) CallResult {
	res := refuse(format, args...)
	s.auditRefusal(call, res.Text)
	return res
}

func refuse(format string, args ...any) CallResult {
	return CallResult{Result: tool.Errorf(format, args...), Refused: true}
}

func checkObject(args json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return err
	}
	if object == nil {
		return errors.New("they are null")
	}
	return nil
}
