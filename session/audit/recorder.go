package audit

import (
	"context"
	"log/slog"
)

// Recorder takes what a session manager has to record.
type Recorder struct {
	Log    *Log // nil means only Logger takes it
	Logger *slog.Logger
}

// Records reports whether anybody sees records.
func (r *Recorder) Records() bool {
	return r.Log != nil || r.Logger.Enabled(context.Background(), slog.LevelInfo)
}

// Note notes a record. An error, which is logged, says that it will not be stored. What
// is not stored yet [Recorder.Stored] tells.
func (r *Recorder) Note(e Record) error {
	if !r.Records() {
		return nil
	}
	if e.Action != "" && r.Logger.Enabled(context.Background(), slog.LevelInfo) {
		r.Logger.Info("decision", "session", e.SessionID, "agent", e.Agent, "tool", e.Tool, "action", e.Action,
			"layer", e.Layer, "rule", e.Rule, "source", e.Source, "outcome", e.Outcome, "by", e.By)
	}
	if r.Log == nil {
		return nil
	}
	err := r.Log.Add(e)
	if err != nil {
		r.Logger.Error("a record is not in the audit log", "kind", e.Kind, "session", e.SessionID, "err", err)
	}
	return err
}

// Stored returns when all that was noted before is stored; an error says that it is not.
func (r *Recorder) Stored(ctx context.Context) error {
	if r.Log == nil {
		return nil
	}
	return r.Log.Flush(ctx)
}
