package audit

import (
	"context"
	"errors"
	"log/slog"
	"os"
)

// Recorder takes every decision of a gate.
type Recorder struct {
	Log    *Log // nil means only Logger takes them
	Logger *slog.Logger
}

// Records reports whether anybody sees decisions.
func (r *Recorder) Records() bool {
	return r.Log != nil || r.Logger.Enabled(context.Background(), slog.LevelInfo)
}

// Note notes a decision. That it can't be noted does not change it, and is said.
func (r *Recorder) Note(e Entry) {
	if !r.Records() {
		return
	}
	r.Logger.Info("decision", "session", e.SessionID, "agent", e.Agent, "tool", e.Tool, "action", e.Action.String(),
		"layer", e.Layer, "rule", e.Rule, "source", e.Source, "outcome", e.Outcome, "by", e.AnsweredBy)
	if r.Log == nil {
		return
	}
	if err := r.Log.Add(e); err != nil && !errors.Is(err, os.ErrClosed) {
		r.Logger.Error("a decision is not in the audit log", "err", err)
	}
}
