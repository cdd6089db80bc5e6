package agentdefs

import (
	"context"
	"log/slog"
)

// log tells the logger of files and folders that are not served, or stale, with
// all that is wrong with them: of each once, and again when it has changed.
// Errors are of that level, warnings of [slog.LevelWarn] at most.
func (l *loader) log(s *Snapshot, level slog.Level) {
	broken, known := map[string]bool{}, map[Diagnostic]bool{}
	for _, d := range s.diagnostics {
		if d.Severity == Error || d.Code == codeAgentStale {
			broken[d.File] = true
		}
	}
	if len(broken) == 0 {
		return
	}
	if l.snapshot != nil {
		for _, d := range l.snapshot.diagnostics {
			known[d] = true
		}
	}
	changed := map[string]bool{}
	for key, r := range l.files.records {
		if l.were != nil && broken[key.shown] {
			before := l.were.records[key]
			changed[key.shown] = before != nil && before.hash != r.hash
		}
	}
	for _, d := range s.diagnostics {
		if !broken[d.File] || d.Severity == Information || known[d] && !changed[d.File] {
			continue
		}
		at := level
		if d.Severity != Error {
			at = min(level, slog.LevelWarn)
		}
		l.opts.Logger.Log(context.Background(), at, "agent file", "finding", d.String())
	}
}
