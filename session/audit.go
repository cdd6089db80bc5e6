package session

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
)

// Bounds of an audit line: what is left out is counted.
const (
	maxAuditValues = 50
	maxAuditText   = 2000 // bytes of one value
)

// AuditEntry is one decision of the gate. The audit file has its JSON, one
// entry per line.
type AuditEntry struct {
	Time       time.Time         `json:"time"`
	SessionID  string            `json:"sessionId"`
	Agent      string            `json:"agent,omitempty"`
	ToolCallID string            `json:"toolCallId"`
	Tool       string            `json:"tool"`
	Values     []AuditValue      `json:"values"`
	LeftOut    int               `json:"valuesLeftOut,omitempty"`
	Action     permission.Action `json:"action"` // what the rules say
	Layer      permission.Layer  `json:"layer"`
	Rule       string            `json:"rule,omitempty"` // empty if no rule matched
	Source     string            `json:"source,omitempty"`
	Reason     string            `json:"reason,omitempty"` // why, if not because of a rule

	// With Action ask: how it ended, and who answered.
	Outcome    event.ApprovalOutcome `json:"outcome,omitempty"`
	AnsweredBy string                `json:"answeredBy,omitempty"`
}

// AuditValue is one thing that a call wanted.
type AuditValue struct {
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// audited reports whether anybody sees decisions.
func (m *Manager) audited() bool {
	return m.audit != nil || m.log.Enabled(context.Background(), slog.LevelInfo)
}

// auditEntry makes the line of a decision; an empty one where nobody sees it.
func (s *Session) auditEntry(call model.ToolCall, values []permission.Value, d permission.Decision) AuditEntry {
	if !s.m.audited() {
		return AuditEntry{}
	}
	e := AuditEntry{
		Time: time.Now().UTC(), SessionID: s.id, Agent: s.agent, ToolCallID: call.ID, Tool: call.Name,
		Values: []AuditValue{}, Action: d.Action, Layer: d.Layer,
	}
	if d.Rule != nil {
		e.Rule, e.Source = d.Rule.String(), d.Rule.Source.String()
	}
	for i, v := range values {
		if i == maxAuditValues {
			e.LeftOut = len(values) - i
			break
		}
		e.Values = append(e.Values, AuditValue{v.Tool, termtext.CutBytes(v.Text, maxAuditText)})
	}
	return e
}

// auditRefusal notes a call that is refused before any rule is asked.
func (s *Session) auditRefusal(call model.ToolCall, reason string) {
	e := s.auditEntry(call, nil, permission.Decision{Action: permission.Deny, Layer: permission.LayerDefault})
	e.Reason = reason
	s.audit(e)
}

func (e AuditEntry) answered(outcome event.ApprovalOutcome, by string) AuditEntry {
	e.Outcome, e.AnsweredBy = outcome, by
	return e
}

// audit notes a decision. That it can't be noted does not change it, and is
// said.
func (s *Session) audit(e AuditEntry) {
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
