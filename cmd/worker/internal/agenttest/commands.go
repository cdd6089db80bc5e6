package agenttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/ci"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
)

type commands struct{ *app.Program }

// options are the flags of 'worker test'.
type options struct {
	record, json bool
	trials       int
	junit        string

	session, name string // of the case that is written
	approve       bool   // in that case
}

// Command is 'worker test'.
func Command(program *app.Program) *cobra.Command {
	p := commands{program}
	var opts options
	cmd := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run test cases of agents from recordings",
		Long: `Runs the test cases in PATH, files or folders of YAML (default: .agents/tests of the
workspace): an agent, its prompt, and what is expected of the answer, of the calls and of
the files. The model's answers come from the recording of the case, so that no key is
needed; a model call that the recording does not have fails, and says what differs.

Each case runs in a copy of the workspace, without .git, and with a state of its own;
what the rules ask is denied, if the case does not say "approve: true".

Exit status: 0 all cases pass, 1 one does not, 2 wrong use, or a case is wrong.`,
		Example: `  worker test
  worker test --record --model sonnet .agents/tests/reviewer.yaml
  worker test --trials 10 --model haiku`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if opts.session != "" {
				if len(paths) > 1 || opts.record || opts.trials > 0 {
					return cli.Usage(errors.New("--from-session takes one folder, and neither --record nor --trials"))
				}
				return p.fromSession(cmd.Context(), paths, opts)
			}
			if opts.name != "" || opts.approve {
				return cli.Usage(errors.New("--name and --approve are for --from-session"))
			}
			if opts.trials < 0 || opts.trials > 1000 || opts.record && opts.trials > 0 {
				return cli.Usage(errors.New("--trials is 1 to 1000, and not for --record"))
			}
			return p.test(cmd.Context(), paths, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.record, "record", false, "run on a model, and write the recordings")
	cmd.Flags().IntVar(&opts.trials, "trials", 0, "run each case this often on its model, and report how many runs pass")
	cmd.Flags().StringVar(&opts.session, "from-session", "", "write a case of the session with this id, with its recording and its files, into PATH, and run it")
	cmd.Flags().StringVar(&opts.name, "name", "", "the name of the case of --from-session (default AGENT-SESSION)")
	cmd.Flags().BoolVar(&opts.approve, "approve", false, "have the case of --from-session allow what the rules ask, and make those calls now")
	cmd.Flags().BoolVar(&opts.json, "json", false, "print the results as one JSON document")
	ci.RegisterJUnit(cmd, &opts.junit)
	return cmd
}

// Verdict is the result of a case.
type Verdict struct {
	File       string    `json:"file"`
	Line       int       `json:"line"`
	Name       string    `json:"name"`
	Agent      string    `json:"agent"`
	Passed     bool      `json:"passed"`
	Trials     int       `json:"trials"`
	Passes     int       `json:"passes"`
	DurationMs int64     `json:"durationMs"`
	Tokens     int64     `json:"tokens"`
	Recorded   string    `json:"recorded,omitempty"` // the file that was written
	Failures   []Failure `json:"failures"`           // of the first trial that has failed
}

// summary is what --json prints.
type summary struct {
	Passed int        `json:"passed"`
	Failed int        `json:"failed"`
	Cases  []*Verdict `json:"cases"`
}

func (p commands) test(ctx context.Context, paths []string, opts options) error {
	if _, err := p.OpenPolicy(); err != nil { // which says what models there are
		return err
	}
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		paths = []string{folder(ws)}
	}
	cases, err := Find(ws.Root, paths)
	if err != nil {
		return cli.Usage(err)
	}
	all := summary{Cases: []*Verdict{}}
	for _, c := range cases {
		v := p.verdict(ctx, c, opts)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		all.Cases = append(all.Cases, v)
		if v.Passed {
			all.Passed++
		} else {
			all.Failed++
		}
		if !opts.json {
			p.print(v)
		}
	}
	if opts.json {
		err = p.PrintJSON(all, true)
	} else {
		_, err = fmt.Fprintf(p.Stdout, "%s: %d passed, %d failed\n", termtext.Plural(len(cases), "case"), all.Passed, all.Failed)
	}
	p.annotate(all.Cases)
	if opts.junit != "" {
		err = errors.Join(err, ci.WriteJUnit(opts.junit, suite(all.Cases)))
	}
	if err == nil && all.Failed > 0 {
		return cli.Failed
	}
	return err
}

// folder is where the cases of a workspace are, relative to the current folder if it is below it.
func folder(ws *workspace.Workspace) string {
	dir := filepath.Join(ws.Root, ".agents", "tests")
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, dir); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return dir
}

// verdict runs a case, once or in trials.
func (p commands) verdict(ctx context.Context, c *Case, opts options) *Verdict {
	v := &Verdict{File: c.file, Line: c.line, Name: c.Name.V, Agent: c.Agent.V, Failures: []Failure{}}
	how := play
	switch {
	case opts.record:
		how, v.Recorded = recordMode, c.Recording.V
	case opts.trials > 0:
		how = live
	}
	began := time.Now()
	for range max(1, opts.trials) {
		o, err := p.run(ctx, c, how)
		if ctx.Err() != nil {
			return v
		}
		v.Trials++
		var failures []Failure
		if err != nil {
			failures = []Failure{c.failed(err)}
		} else {
			failures = c.failures(o)
			v.Tokens += o.tokens
		}
		if len(failures) == 0 {
			v.Passes++
		} else if len(v.Failures) == 0 {
			v.Failures = failures
		}
	}
	v.DurationMs = time.Since(began).Milliseconds()
	v.Passed = float64(v.Passes) >= c.PassRate.V*float64(v.Trials)
	return v
}

// failed is an error of a run, at its line if it names one of the file.
func (c *Case) failed(err error) Failure {
	if rest, ok := strings.CutPrefix(err.Error(), c.file+":"); ok {
		at, message, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(at); err == nil {
			return Failure{line, message}
		}
	}
	return Failure{c.line, err.Error()}
}

// print prints a verdict: a line within 80 columns, and the failures.
func (p commands) print(v *Verdict) {
	word := p.OutTerm.Paint(terminal.Green, "ok  ")
	if !v.Passed {
		word = p.OutTerm.Paint(terminal.Red, "FAIL")
	}
	rate := ""
	if v.Trials > 1 {
		rate = fmt.Sprintf("  %d of %d passed", v.Passes, v.Trials)
	}
	const width = 34
	name := termtext.OneLine(v.Name, width)
	fmt.Fprintf(p.Stdout, "%s  %-*s %6.1f s %8d tokens%s\n", word, width, name, float64(v.DurationMs)/1000, v.Tokens, rate)
	for _, f := range v.Failures {
		fmt.Fprintf(p.Stdout, "      %s:%d: %s\n", termtext.OneLine(v.File, termtext.MaxLabel), f.Line, termtext.OneLine(f.Message, termtext.MaxReport))
	}
	if v.Recorded != "" {
		fmt.Fprintf(p.Stderr, "recorded in %s: look through it before you share it\n", termtext.OneLine(v.Recorded, termtext.MaxLabel))
	}
}

// annotate shows failures at their lines in GitHub Actions.
func (p commands) annotate(all []*Verdict) {
	if p.Getenv("GITHUB_ACTIONS") != "true" {
		return
	}
	for _, v := range all {
		if v.Passed {
			continue
		}
		for _, f := range v.Failures {
			at := ci.Location{File: filepath.ToSlash(v.File), Line: f.Line}
			fmt.Fprintln(ci.Raw(p.Stderr), ci.Annotation("error", at, v.Name, f.Message))
		}
	}
}

// suite is the verdicts as JUnit has them.
func suite(all []*Verdict) ci.Suite {
	s := ci.Suite{Name: "worker test"}
	for _, v := range all {
		c := ci.Case{Class: v.Agent, Name: v.Name, Took: time.Duration(v.DurationMs) * time.Millisecond}
		if !v.Passed {
			var failures []string
			for _, f := range v.Failures {
				failures = append(failures, fmt.Sprintf("%s:%d: %s", v.File, f.Line, f.Message))
			}
			c.Failure = strings.Join(failures, "\n")
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
