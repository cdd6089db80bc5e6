// Package audits has the commands of 'worker audit'.
package audits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/session/audit"
)

type commands struct{ *app.Program }

// Commands returns 'worker audit'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	return cli.Group("audit", "See who was allowed what, and verify that nobody has changed it",
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
type chosen struct{ audit.Query }

func (c *chosen) register(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kind, "kind", "", "records of this kind, such as decision, answer or session_end")
	flags.StringVar(&c.Agent, "agent", "", "records of this agent's sessions")
	flags.StringVar(&c.Tool, "tool", "", "records of calls of this tool")
	flags.StringVar(&c.Outcome, "outcome", "", "records of this outcome: allowed, approved, denied, expired, cancelled, or a session's status")
	flags.StringVar(&c.Session, "session", "", "records of this session, or of all that a caller's session has begun")
	flags.StringVar(&c.Since, "since", "", "records from then on: a time (2026-11-23, 2026-11-23T10:00:00Z) or how long ago (2h, 7d)")
	flags.StringVar(&c.Until, "until", "", "records before then, as with --since")
}

// filter returns the filter of the flags.
func (c *chosen) filter(now time.Time) (*audit.Filter, error) {
	f, err := c.Query.Filter(now)
	if bad := (*audit.QueryError)(nil); errors.As(err, &bad) {
		err = cli.Usage(fmt.Errorf("--%w", bad))
	}
	return f, err
}
