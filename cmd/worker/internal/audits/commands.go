// Package audits has the commands of 'worker audit'.
package audits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/exit"
	"github.com/agentworker/worker/cmd/worker/internal/usage"
	"github.com/agentworker/worker/session/audit"
)

type commands struct{ *app.Program }

// Commands returns 'worker audit'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	return usage.Group("audit", "See who was allowed what, and verify that nobody has changed it",
		p.listCommand(), p.verifyCommand(), p.exportCommand())
}

// withLog has f read the audit log.
func (p commands) withLog(ctx context.Context, f func(*audit.Log) error) error {
	return p.WithStorage(ctx, func(s *app.Storage) error {
		log, err := p.OpenAudit(ctx, s)
		if err != nil {
			return err
		}
		return errors.Join(f(log), log.Close())
	})
}

// chosen is what the flags of a command choose.
type chosen struct {
	audit.Filter
	since, until string
}

func (c *chosen) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kind, "kind", "", "records of this kind, such as decision, answer or session_end")
	flags.StringVar(&c.Agent, "agent", "", "records of this agent's sessions")
	flags.StringVar(&c.Tool, "tool", "", "records of calls of this tool")
	flags.StringVar(&c.Outcome, "outcome", "", "records of this outcome: allowed, approved, denied, expired, cancelled, or a session's status")
	flags.StringVar(&c.Session, "session", "", "records of this session, or of all that a caller's session has begun")
	flags.StringVar(&c.since, "since", "", "records from then on: a time (2026-11-23, 2026-11-23T10:00:00Z) or how long ago (2h, 7d)")
	flags.StringVar(&c.until, "until", "", "records before then, as with --since")
}

// filter returns the filter of the flags.
func (c *chosen) filter(now time.Time) (*audit.Filter, error) {
	if c.Kind != "" && !slices.Contains(audit.Kinds, audit.Kind(c.Kind)) {
		return nil, exit.Usage(fmt.Errorf("--kind %s: the kinds are %v", c.Kind, audit.Kinds))
	}
	f := c.Filter
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"since", c.since, &f.Since}, {"until", c.until, &f.Until}} {
		if t.text == "" {
			continue
		}
		at, err := parseTime(t.text, now)
		if err != nil {
			return nil, exit.Usage(fmt.Errorf("--%s %s: %w", t.name, t.text, err))
		}
		*t.to = at
	}
	if !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return nil, exit.Usage(errors.New("--since is not before --until"))
	}
	return &f, nil
}

// maxAgo bounds a time that has passed.
const maxAgo = 100 * 365 * 24 * time.Hour

// parseTime reads a time, or how long ago it was.
func parseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	ago, err := time.ParseDuration(text)
	if days, isDays := cutDays(text); isDays {
		ago, err = time.Duration(days)*24*time.Hour, nil
	}
	if err != nil || ago < 0 || ago > maxAgo {
		return time.Time{}, errors.New("write a day (2026-11-23), a time (2026-11-23T10:00:00Z), or how long ago (90m, 7d)")
	}
	return now.Add(-ago), nil
}

// cutDays returns the number of days of a text such as "7d".
func cutDays(text string) (days int, ok bool) {
	var unit string
	n, err := fmt.Sscanf(text, "%d%s", &days, &unit)
	return days, err == nil && n == 2 && unit == "d" && days >= 0 && days <= int(maxAgo/(24*time.Hour))
}
