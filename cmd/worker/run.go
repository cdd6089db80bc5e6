package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt"
)

// runOptions are the flags of the commands that run an agent.
type runOptions struct {
	json   bool
	events bool
	yes    bool
}

func (o *runOptions) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print the result as one JSON document")
	cmd.Flags().BoolVar(&o.events, "events", false, "print each event of the stream as a line of JSON, the result last")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "answer yes to what the permission rules ask; what they deny stays denied")
}

func (o *runOptions) check() error {
	if o.json && o.events {
		return usageError{errors.New("--json and --events can't be used together: --events prints the same document, last")}
	}
	return nil
}

func (p *program) runCommand() *cobra.Command {
	var opts runOptions
	var agent string
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Run a primary agent that may itself call task",
		Long: `Runs a primary agent with PROMPT ("-": read from stdin) and prints its answer on
stdout. It is offered the task tool, and its subagents run side by side.`,
		Example:           `  worker run "Compare how the two parsers report errors"`,
		Args:              usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := p.readPrompt(cmd.Context(), args[0])
			if err := cmp.Or(opts.check(), err); err != nil {
				return err
			}
			return p.runPrimary(cmd.Context(), agent, prompt, opts)
		},
	}
	opts.register(cmd)
	cmd.Flags().StringVar(&agent, "agent", "", "an agent of mode primary or all (default: a general one)")
	// It fails for a flag that is not there or has a function.
	_ = cmd.RegisterFlagCompletionFunc("agent", p.completeAgents(func(d *agentdefs.Definition) bool { return d.Mode != agentdefs.Subagent }))
	return cmd
}

// primary is the agent of "worker run" where none is named. It has no rules of
// its own: what it may do is what permissions.jsonc says.
var primary = &agentdefs.Definition{
	Name:     "primary",
	Mode:     agentdefs.Primary,
	MaxSteps: 50,
	Prompt: "Answer the user's prompt. Give parts of the work that can be done apart to subagents with the task tool, " +
		"several in one turn where they do not depend on each other, and put what they report together in your answer.",
}

// runPrimary runs a primary agent. Whatever goes wrong, --json and --events get
// a document that says so.
func (p *program) runPrimary(ctx context.Context, name, prompt string, opts runOptions) error {
	doc, refused, err := p.prompt(ctx, name, prompt, opts)
	if doc == nil {
		doc = &taskt.Document{Type: "run_error", Agent: cmp.Or(name, primary.Name), Status: endedBy(ctx), Error: plain(err)}
	}
	if err := p.printResult(*doc, doc.Text, opts); err != nil {
		return err
	}
	p.reportRefusals(refused)
	switch {
	case err == nil:
		return nil
	case opts.json || opts.events:
		p.complainOnce(err)
	default: // stdout has the answer alone, and there is none
		p.complain(err)
	}
	switch {
	case ctx.Err() != nil && doc.Error != "":
		return exitError(exitInterrupted)
	case errors.As(err, &usageError{}):
		return exitError(exitUsage)
	}
	return exitError(exitFailed)
}

// prompt opens the session of a primary agent, prompts it, and returns the
// result, together with what went wrong; nil: there is no session.
func (p *program) prompt(ctx context.Context, name, prompt string, opts runOptions) (_ *taskt.Document, refused []refusedCall, err error) {
	if err := p.checkModel(); err != nil {
		return nil, nil, err
	}
	a, err := p.openApp(ctx, p.approver(opts.yes), false)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	def, err := primaryAgent(a.agents.Snapshot(), name)
	p.reportAgent(a.agents.Snapshot(), def, name)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if _, err := p.models().get(def.Model); err != nil {
		return nil, nil, err
	}
	root, err := a.tasks.OpenPrimary(ctx, def, firstWords(prompt))
	if err != nil {
		return nil, nil, err
	}
	watching := p.watch(ctx, a.bus, root.Path(), opts)
	outcome := root.Prompt(ctx, prompt)
	if err := errors.Join(root.End(outcome.Status, outcome.Err), watching.wait()); err != nil {
		p.complain(err) // the answer is there all the same
	}
	record := root.Record()
	doc := &taskt.Document{
		Type:       "run_result",
		Agent:      def.Name,
		SessionID:  record.ID,
		Status:     outcome.Status,
		Text:       outcome.Text,
		Usage:      event.Usage(record.Usage),
		Steps:      record.Steps,
		DurationMs: record.Duration(record.EndedAt).Milliseconds(),
	}
	if outcome.Err != nil {
		doc.Type, doc.Error = "run_error", plain(outcome.Err)
	}
	return doc, watching.refused(), outcome.Err
}

func primaryAgent(snapshot *agentdefs.Snapshot, name string) (*agentdefs.Definition, error) {
	if name == "" {
		return primary, nil
	}
	def, candidates := snapshot.Resolve(name)
	if len(candidates) > 0 {
		return nil, fmt.Errorf("the agent %q could be any of %s: write it in the same case", name, strings.Join(candidates, ", "))
	}
	if def == nil || def.Mode == agentdefs.Subagent {
		var names []string
		for _, d := range snapshot.Agents() {
			if d.Mode != agentdefs.Subagent {
				names = append(names, d.Name)
			}
		}
		return nil, fmt.Errorf("there is no primary agent %q%s; there are: %s (an agent file becomes one by 'mode: primary' or 'mode: all')",
			name, suggest.DidYouMean(name, names), cmp.Or(strings.Join(names, ", "), "none"))
	}
	return def, nil
}

// readPrompt returns the prompt of the command line, "-" being stdin's text.
func (p *program) readPrompt(ctx context.Context, arg string) (string, error) {
	prompt := arg
	if arg == "-" {
		var err error
		if prompt, err = p.readStdin(ctx); err != nil {
			return "", fmt.Errorf("reading the prompt from stdin: %w", err)
		}
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usageError{errors.New("the prompt is empty")}
	}
	return prompt, nil
}

// readStdin reads stdin to its end, or until ctx ends. The read itself can't be
// interrupted: it is left to the end of the process.
func (p *program) readStdin(ctx context.Context) (string, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(p.stdin)
		read <- input{data, err}
	}()
	select {
	case in := <-read:
		return string(in.data), in.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// printResult writes the result to stdout: text, or the document as JSON.
func (p *program) printResult(doc taskt.Document, text string, opts runOptions) error {
	if opts.json || opts.events {
		return p.printJSON(doc, opts.json)
	}
	if text == "" {
		return nil
	}
	if p.outTerm.is() {
		text = termtext.Printable(text)
	}
	_, err := fmt.Fprintln(p.stdout, text)
	return err
}

// printJSON writes one JSON document, over several lines if indented.
func (p *program) printJSON(doc any, indented bool) error {
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	if indented {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(doc)
}
