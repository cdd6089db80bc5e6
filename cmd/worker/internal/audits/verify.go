package audits

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/session/audit"
)

// maxShown is how many problems are printed.
const maxShown = 20

func (p commands) verifyCommand() *cobra.Command {
	var anchor string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [FILE…]",
		Short: "Find records that were changed, taken out or moved",
		Long: `Verifies the audit log of this workspace, or what 'worker audit export' has written:
each record has the hash of the one before it. It prints the head: the number and the
hash of the last record. Exit status 1 says that something is wrong, and what.

The chain cannot show that its end was cut off, or that all of it was written anew by
somebody who may write to the store. Keep the head where they can't, and give it with
--anchor the next time.`,
		Example: `  worker audit verify
  worker audit verify --anchor 1042:9f2c… audit-2026-11.jsonl`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			var known audit.Head
			if anchor != "" {
				var err error
				if known, err = audit.ParseHead(anchor); err != nil {
					return cli.Usage(fmt.Errorf("--anchor: %w", err))
				}
			}
			report, err := p.verify(cmd.Context(), known, files)
			if err != nil {
				return err
			}
			return p.printReport(report, asJSON)
		},
	}
	cmd.Flags().StringVar(&anchor, "anchor", "", "N:HASH, a head that was kept elsewhere: the log must have that record")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as a JSON object")
	return cmd
}

// verify verifies the log, or files that have it, one after the other.
func (p commands) verify(ctx context.Context, anchor audit.Head, files []string) (report *audit.Report, err error) {
	if len(files) == 0 {
		err = p.withLog(ctx, func(log *audit.Log) error {
			report, err = log.Verify(ctx, anchor)
			return err
		})
		return report, err
	}
	v := &audit.Verifier{Anchor: anchor}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, cli.Usage(err)
		}
		err = v.File(file)
		_ = file.Close() // it was only read
		if err != nil {
			return nil, err
		}
	}
	return v.Report(), nil
}

func (p commands) printReport(r *audit.Report, asJSON bool) error {
	if asJSON {
		if err := p.PrintJSON(r, true); err != nil {
			return err
		}
	} else {
		for i, problem := range r.Problems {
			if i == maxShown {
				fmt.Fprintf(p.Stdout, "and %d more\n", len(r.Problems)-i)
				break
			}
			fmt.Fprintln(p.Stdout, problem.Text)
		}
		switch {
		case len(r.Problems) > 0:
		case r.Head == nil:
			fmt.Fprintln(p.Stdout, "no records")
		default:
			fmt.Fprintf(p.Stdout, "%d records, %d to %d: nothing is missing, changed or moved\nhead %s\n", r.Records, r.First, r.Head.N, r.Head)
		}
	}
	if len(r.Problems) > 0 {
		return cli.Failed
	}
	return nil
}
