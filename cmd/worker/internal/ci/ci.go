// Package ci is how commands work in a pipeline, where nobody looks on. They write files
// for it ([Report]), and their exit status says how it went.
//
// GitHub Actions reads commands from what a step prints: a line that begins with "::", or
// has "##[" in it. [Annotation] writes one, and [Guard] keeps everything else that is
// printed, such as a model's text, from being one.
package ci

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/eventbus/event"
)

// Options say how a command works in a pipeline.
type Options struct {
	On      bool   // nobody is asked, and what was refused is a failure
	JUnit   string // the file of the JUnit report; empty means none
	Summary string // the file that the summary in Markdown is appended to; empty means none

	annotates bool
	flag      *pflag.Flag // of On
}

// Register registers the flags of the options.
func (o *Options) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.On, "ci", false, "nobody is asked: what the rules ask is denied, and a denied call is exit status 3 (default: true if CI=true is set)")
	o.flag = cmd.Flags().Lookup("ci")
	RegisterJUnit(cmd, &o.JUnit)
	cmd.Flags().StringVar(&o.Summary, "summary", "", "append a summary in Markdown to this file (default with --ci: $GITHUB_STEP_SUMMARY, if set)")
}

// RegisterJUnit registers the flag of the commands that write a JUnit report.
func RegisterJUnit(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "junit", "", "write a report in JUnit's XML to this file")
}

// Complete sets from the environment what no flag has set. With yes approvals are given
// without asking; the flag --ci forbids that.
func (o *Options) Complete(getenv func(string) string, yes bool) error {
	if !o.flag.Changed {
		o.On, _ = strconv.ParseBool(getenv("CI")) // any other word: it is not said
	} else if o.On && yes {
		return cli.Usage(errors.New("--ci and --yes can't be used together: nobody is there to say yes; allow what is needed with --allow or --permissions"))
	}
	if o.On {
		o.Summary = cmp.Or(o.Summary, getenv("GITHUB_STEP_SUMMARY"))
		o.annotates = getenv("GITHUB_ACTIONS") == "true"
	}
	return nil
}

// Reports reports whether there is anything to write.
func (o *Options) Reports() bool {
	return o.JUnit != "" || o.Summary != "" || o.annotates
}

// Status returns the exit status of a task that is done or has failed. In a pipeline it is
// a failure if a call was denied, the task was stopped at its step limit, or some of its events
// are not known.
func (o *Options) Status(status cli.Status, denied bool, reason event.StopReason, unknown error) cli.Status {
	switch {
	case !o.On:
		return status
	case denied:
		return cli.Refused
	case status == cli.Done && reason == event.StopSteps:
		return cli.OutOfSteps
	case unknown != nil:
		return cli.Failed
	}
	return status
}

// Write writes the files of a report, and its annotations to w where GitHub reads them.
func (o *Options) Write(w io.Writer, r *Report) error {
	var errs []error
	if o.JUnit != "" {
		errs = append(errs, WriteJUnit(o.JUnit, r.suite()))
	}
	if o.Summary != "" {
		errs = append(errs, Append(o.Summary, r.Markdown()))
	}
	if o.annotates {
		errs = append(errs, r.annotate(w))
	}
	return errors.Join(errs...)
}

// Append appends a text to a file of summaries, which other steps may have begun.
func Append(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}
