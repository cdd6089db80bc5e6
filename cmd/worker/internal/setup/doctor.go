package setup

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/session/integrity"
)

// checkedEvents is how many messages of the event stream command reads without --full.
const checkedEvents = 100_000

type doctor struct {
	commands
	listen string // where 'worker serve' listens unless told otherwise
}

// Doctor returns 'worker doctor'. listen is the default address of 'worker serve'.
func Doctor(program *app.Program, listen string) *cobra.Command {
	p := doctor{commands{program}, listen}
	var asJSON, rebuild, full bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong and what to do; rebuild the index of sessions",
		Long: `Checks the default model and its key, the sandbox of the kernel, watches of files, the
port of 'worker serve', which language servers can run, and which hosts have an entry for
worker. It sends one request to the provider of the model, for its list of models, which
costs nothing.

Then it shows what the event store holds, and compares the index of sessions with their
logs. It reports what the store has lost by damage, for which sessions, and what to do. Of
the policy above the repository it shows the files, their hash and what they narrow; then
the limits in force. The exit status is 6 if anything is wrong.

It looks for the content of large events in the newest 100,000 messages. With --full, or
after a loss, it looks in all of them. With --full it also reads all files of the store,
unless another worker has it open: then it reports that.

With --rebuild it first makes the records of the index again from the logs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			above, broken := p.policyOf()
			p.CheckFiles = full
			return p.WithStorage(cmd.Context(), func(s *app.Storage) error {
				ctx, sessions := cmd.Context(), s.Records
				if rebuild {
					changed, err := sessions.Integrity.Rebuild(ctx)
					if err != nil {
						return err
					}
					fmt.Fprintf(p.Stderr, "records made anew: %d\n", changed)
				}
				newest := uint64(checkedEvents)
				if full {
					newest = 0
				}
				check, err := sessions.Integrity.Check(ctx, newest)
				if err != nil {
					return err
				}
				looks := p.look(ctx, broken == nil)
				if full && s.Bus.Health().Embedded {
					looks = append([]finding{files(s.Bus)}, looks...)
				}
				return errors.Join(p.print(&report{Check: check, Policy: above, Limits: p.Limits(), Checks: looks}, asJSON), broken)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as one JSON document")
	cmd.Flags().BoolVar(&full, "full", false, "read all events and files of the store, however many there are")
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "make the index of sessions again from their logs")
	return cmd
}

// policyDocument is the policy that holds, as command shows it.
type policyDocument struct {
	Hash    string        `json:"hash"`
	Files   []policy.File `json:"files"`
	Narrows []string      `json:"narrows"`
}

// policyOf returns the policy that holds; nil means there is none. What is wrong with it
// stops every command that would run something.
func (p doctor) policyOf() (*policyDocument, error) {
	above, err := p.OpenPolicy()
	if err != nil {
		return nil, err
	}
	now, err := above.Current()
	if now == nil {
		return nil, err
	}
	return &policyDocument{Hash: now.Hash(), Files: now.Files(), Narrows: now.Narrows()}, nil
}

// print shows the policy to people.
func (d *policyDocument) print(w io.Writer) {
	if d == nil {
		return
	}
	fmt.Fprintf(w, "\npolicy: %s\n", d.Hash)
	for _, f := range d.Files {
		fmt.Fprintf(w, "  %s\n", termtext.OneLine(f.Path, termtext.MaxLine))
	}
	for _, line := range d.Narrows {
		fmt.Fprintf(w, "  - %s\n", termtext.OneLine(line, termtext.MaxLine))
	}
}

// report is what command has found.
type report struct {
	*integrity.Check
	Policy *policyDocument `json:"policy,omitempty"`
	Limits []app.Limit     `json:"limits"`
	Checks []finding       `json:"checks"`

	// Verdict is in one line whether tasks can be run.
	Verdict string `json:"verdict"`
}

// wrong counts what is wrong.
func (r *report) wrong() int {
	n := len(r.Findings)
	for _, f := range r.Checks {
		if f.State == wrongState {
			n++
		}
	}
	return n
}

// verdict returns the last line of a report.
func (r *report) verdict() string {
	if n := r.wrong(); n > 0 {
		return "not ready: " + termtext.Plural(n, "problem is", "problems are") + " named above, each with what to do"
	}
	for _, f := range r.Checks {
		if f.About == "model" && f.State == noteState {
			return "ready, without a language model: set a key for real answers"
		}
	}
	return "ready"
}

// print prints a report. What is wrong is an error.
func (p doctor) print(r *report, asJSON bool) error {
	r.Verdict = r.verdict()
	if asJSON {
		if err := p.PrintJSON(r, true); err != nil {
			return err
		}
	} else if err := p.printText(r); err != nil {
		return err
	}
	for _, f := range r.Findings {
		names := ""
		if len(f.Sessions) > 1 {
			names = " (" + someOf(f.Sessions) + ")"
		}
		fmt.Fprintf(p.Stderr, "%s%s\n  %s\n", f.Text, names, f.Advice)
	}
	for _, f := range r.Checks {
		if f.State == wrongState {
			fmt.Fprintf(p.Stderr, "%s: %s\n  %s\n", f.About, termtext.OneLine(f.Text, termtext.MaxLine), f.Advice)
		}
	}
	if !asJSON {
		fmt.Fprintf(p.Stdout, "\n%s\n", r.Verdict)
	}
	if r.wrong() > 0 {
		return cli.CheckFailed
	}
	return nil
}

func (p doctor) printText(r *report) error {
	table := terminal.Table{Header: []string{"STREAM", "MESSAGES", "BYTES"}}
	for _, s := range r.Streams {
		table.Add(s.Name, strconv.FormatUint(s.Messages, 10), strconv.FormatUint(s.Bytes, 10))
	}
	if _, err := table.Print(p.Stdout, p.OutTerm, false); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "\nsessions: %d with a log, %d in the index\n", r.Logs, r.Records)
	r.Policy.print(p.Stdout)
	fmt.Fprintln(p.Stdout, "\nlimits that count:")
	for _, l := range r.Limits {
		fmt.Fprintf(p.Stdout, "  %s %s (%s)\n", l.Key, termtext.OneLine(l.Value, termtext.MaxLabel), termtext.OneLine(l.Set, termtext.MaxLine))
	}
	if r.Unread > 0 {
		fmt.Fprintf(p.Stdout, "not read: the oldest %d messages of %s; --full reads all\n", r.Unread, eventbus.Stream)
	}
	fmt.Fprintln(p.Stdout)
	for _, f := range r.Checks {
		if f.State == wrongState {
			continue // on stderr
		}
		fmt.Fprintf(p.Stdout, "%s: %s\n", f.About, termtext.OneLine(f.Text, termtext.MaxLine))
		if f.Advice != "" {
			fmt.Fprintf(p.Stdout, "  %s\n", termtext.OneLine(f.Advice, termtext.MaxLine))
		}
	}
	return nil
}

// someOf names the first of many.
func someOf(ids []string) string {
	const most = 5
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + ", …"
	}
	return strings.Join(ids, ", ")
}
