package session

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
)

// audited reports whether anybody sees decisions.
func (m *Manager) audited() bool {
	return m.audit != nil || m.log.Enabled(context.Background(), slog.LevelInfo)
}

// auditEntry makes the line of a decision; an empty one where nobody sees it.
func (s *Session) auditEntry(call model.ToolCall, values []permission.Value, d permission.Decision) audit.Entry {
	if !s.m.audited() {
		return audit.Entry{}
	}
	return audit.Entry{
		Time: time.Now().UTC(), SessionID: s.id, Agent: s.Agent(), ToolCallID: call.ID, Tool: call.Name,
	}.Decided(values, d)
}

// auditRefusal notes a call that is refused before any rule is asked.
func (s *Session) auditRefusal(call model.ToolCall, reason string) {
	e := s.auditEntry(call, nil, permission.Decision{Action: permission.Deny, Layer: permission.LayerDefault})
	e.Reason = reason
	s.audit(e)
}

// audit notes a decision. That it can't be noted does not change it, and is
// said.
func (s *Session) audit(e audit.Entry) {
	if !s.m.audited() {
		return
	}
	s.m.log.Info("decision", "session", e.SessionID, "agent", e.Agent, "tool", e.Tool, "action", e.Action.String(),
		"layer", e.Layer, "rule", e.Rule, "source", e.Source, "outcome", e.Outcome, "by", e.AnsweredBy)
	if s.m.audit == nil {
		return
	}
	if err := s.m.audit.Add(e); err != nil && !errors.Is(err, os.ErrClosed) {
		s.m.log.Error("a decision is not in the audit log", "err", err)
	}
}
