package toolcall

import (
	"context"
	"errors"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/journal"
)

// Audit has the audit log take what is decided on a session's calls, its start and its end.
type Audit struct {
	p   *Process
	log *journal.Journal
}

// note has the audit log take a record. An error is logged: it changes nothing about what is
// over or refused.
func (s *Audit) note(r audit.Record) { _ = s.p.Audit.Note(r) }

// stored returns v, the verdict on an allowed call, once the audit log has stored the reason;
// otherwise a refusal. Decisions by rules on calls that delegate are stored a moment later, and
// before any call of the sessions that these begin.
func (s *Audit) stored(ctx context.Context, c *Call, r audit.Record, v verdict) verdict {
	err := s.p.Audit.Note(r)
	if err == nil && (r.Kind == audit.Answer || c.tool == nil || !c.tool.Spec().Delegates) {
		err = s.p.Audit.Stored(ctx)
	}
	switch {
	case err == nil:
		return v
	case ctx.Err() != nil:
		return verdict{refusal: refuse("%s was not run: %s", c.Name, errtext.Of(context.Cause(ctx)))}
	}
	return verdict{refusal: refuse("%s is refused, since the audit log can't be written: %s", c.Name, errtext.Of(err))}
}

// decision makes the record of a decision; an empty one if nobody sees it. A nil rules
// means that no rule was applied.
func (s *Audit) decision(c *Call, values []permission.Value, d permission.Decision, rules *gate.Layers) audit.Record {
	if !s.p.Audit.Records() {
		return audit.Record{}
	}
	r := s.sessionRecord()
	r.ToolCallID, r.Tool = termtext.CutBytes(c.ID, maxName), termtext.CutBytes(c.Name, maxName) // a model may make them up
	if rules != nil {
		r.Under = &rules.Policy
	}
	return r.Decided(values, d)
}

// refuseUndecided refuses a call to which no rule was applied.
func (s *Audit) refuseUndecided(c *Call, format string, args ...any) Result {
	res := refuse(format, args...)
	r := s.decision(c, nil, permission.Decision{Action: permission.Deny, Layer: permission.LayerDefault}, nil)
	r.Reason = res.Text
	s.note(r)
	return res
}

// answered has the audit log say how a question ended that no rule has asked: one of the agent,
// or one about a limit.
func (s *Audit) answered(a *approval.Approval) {
	if !s.p.Audit.Records() {
		return
	}
	r := s.sessionRecord()
	r.ToolCallID, r.Tool, r.Question = a.ToolCallID, a.Tool, a.Question.Title
	s.note(r.Answered(a.Outcome, a.AnsweredBy))
}

// wrong is refuseUndecided for a call that is wrong itself: no rule has denied it.
func (s *Audit) wrong(c *Call, format string, args ...any) Result {
	res := s.refuseUndecided(c, format, args...)
	res.Refused = false
	return res
}

// maxName bounds the names of a call in records, in bytes.
const maxName = 300

// maxClient bounds the name of a client in records, in characters.
const maxClient = 200

// sessionRecord returns a record that names the session.
func (s *Audit) sessionRecord() audit.Record {
	return audit.Record{
		Time: time.Now(), Worker: s.p.BootID, SessionID: s.log.ID, RootID: s.log.Path[0].SessionID, Agent: s.log.Agent(),
		Client: termtext.OneLine(s.log.Root().Record().Description, maxClient),
	}
}

// Start has the audit log say that the session has begun, or is resumed here.
func (s *Audit) Start(kind audit.Kind) {
	if !s.p.Audit.Records() {
		return
	}
	r, of := s.sessionRecord(), s.log.Record()
	r.Kind, r.Model = kind, of.Model
	if kind == audit.SessionStart {
		policy := of.Policy
		r.Under = &policy
	}
	s.note(r)
}

// End has the audit log say how the session has ended. why may be nil.
func (s *Audit) End(why error) {
	if !s.p.Audit.Records() {
		return
	}
	r, of := s.sessionRecord(), s.log.Record()
	r.Kind, r.Outcome = audit.SessionEnd, string(of.Status)
	if why != nil {
		r.Reason = errtext.Of(why)
	}
	if stopped, ok := errors.AsType[interface {
		error
		StoppedBy() string
	}](why); ok {
		r.By = stopped.StoppedBy()
	}
	s.note(r)
}
