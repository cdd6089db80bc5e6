package session

import (
	"context"
	"errors"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
)

// note has the audit log take a record. That it can't is logged: it changes nothing of
// what is over or refused.
func (m *Manager) note(r audit.Record) { _ = m.audit.Note(r) }

// recorded returns v, of a call that is allowed, once the audit log has stored why; else a
// refusal. A decision of the rules on a call that delegates is stored a moment later, and
// before any call of the sessions that it begins.
func (s *Session) recorded(ctx context.Context, inv *invocation, r audit.Record, v verdict) verdict {
	err := s.m.audit.Note(r)
	if err == nil && (r.Kind == audit.Answer || inv.tool == nil || !inv.tool.Spec().Delegates) {
		err = s.m.audit.Stored(ctx)
	}
	switch {
	case err == nil:
		return v
	case ctx.Err() != nil:
		return verdict{refusal: refuse("%s was not run: %s", inv.Name, errtext.Of(context.Cause(ctx)))}
	}
	return verdict{refusal: refuse("%s is refused, since the audit log can't be written: %s", inv.Name, errtext.Of(err))}
}

// auditRecord makes the record of a decision; an empty one where nobody sees it. rules is
// nil where none were asked.
func (s *Session) auditRecord(call model.ToolCall, values []permission.Value, d permission.Decision, rules *gate.Layers) audit.Record {
	if !s.m.audit.Records() {
		return audit.Record{}
	}
	r := s.whose()
	r.ToolCallID, r.Tool = call.ID, call.Name
	if rules != nil {
		r.Under = &rules.Policy
	}
	return r.Decided(values, d)
}

// refuseUnjudged refuses a call that no rule was asked about.
func (s *Session) refuseUnjudged(call model.ToolCall, format string, args ...any) CallResult {
	res := refuse(format, args...)
	r := s.auditRecord(call, nil, permission.Decision{Action: permission.Deny, Layer: permission.LayerDefault}, nil)
	r.Reason = res.Text
	s.m.note(r)
	return res
}

// whose returns a record that says whose it is.
func (s *Session) whose() audit.Record {
	root := s
	for root.parent != nil {
		root = root.parent
	}
	return audit.Record{
		Time: time.Now(), Worker: s.m.bootID, SessionID: s.id, RootID: s.path[0].SessionID, Agent: s.Agent(),
		Client: termtext.OneLine(root.Record().Description, maxClient),
	}
}

// maxClient bounds the name of a client in records, in characters.
const maxClient = 200

// noteStart has the audit log say that the session has begun, or goes on here.
func (s *Session) noteStart(kind audit.Kind) {
	if !s.m.audit.Records() {
		return
	}
	r, of := s.whose(), s.Record()
	r.Kind, r.Model = kind, of.Model
	if kind == audit.SessionStart {
		policy := of.Policy
		r.Under = &policy
	}
	s.m.note(r)
}

// noteEnd has the audit log say how the session has ended.
func (s *Session) noteEnd(why error) {
	if !s.m.audit.Records() {
		return
	}
	r, of := s.whose(), s.Record()
	r.Kind, r.Outcome = audit.SessionEnd, string(of.Status)
	if why != nil {
		r.Reason = errtext.Of(why)
	}
	var stopped *StoppedError
	if errors.As(why, &stopped) {
		r.By = stopped.By
	}
	s.m.note(r)
}

// EndRecord is what the audit log is to have of a session that was ended in place of a
// process that has gone.
func EndRecord(r *store.Record) audit.Record {
	return audit.Record{
		Kind: audit.SessionEnd, Worker: r.EndedBy, SessionID: r.ID, RootID: r.Path[0].SessionID, Agent: r.Agent,
		Outcome: string(r.Status), Reason: r.Error,
	}
}
