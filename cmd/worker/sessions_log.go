package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
)

// The formats of a transcript.
var logFormats = []string{"text", "jsonl", "markdown"}

func (p *program) sessionsLogCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "log SESSION",
		Short: "Print a session's transcript",
		Long: `Prints the messages of SESSION: an id, or the start of one. As jsonl each message is a
line of JSON, as it is stored, with its schema; markdown is for people.`,
		Example: `  worker sessions log ses_4f2k --format markdown >transcript.md
  worker sessions log ses_4f2k --format jsonl | jq -r 'select(.role == "assistant").text'`,
		Args:              usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(logFormats, format) {
				return usageError{fmt.Errorf("--format %s: it is one of %s", format, strings.Join(logFormats, ", "))}
			}
			return p.withSessions(cmd.Context(), func(ctx context.Context, sessions *session.Store) error {
				return p.logSession(ctx, sessions, args[0], format)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", logFormats[0], strings.Join(logFormats, ", "))
	// It fails for a flag that is not there or has a function.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(logFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (p *program) logSession(ctx context.Context, sessions *session.Store, id, format string) error {
	r, err := sessions.Get(ctx, id)
	if err != nil {
		return err
	}
	messages, err := sessions.Messages(ctx, r.ID)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(p.stdout)
	switch format {
	case "jsonl":
		err = writeJSONL(out, messages)
	case "markdown":
		_, err = out.WriteString(eventbus.Printable(markdown(r, messages)))
	default:
		for _, m := range messages {
			if _, err = out.WriteString(eventbus.Printable(transcript(m.Message))); err != nil {
				break
			}
		}
	}
	return cmp.Or(err, out.Flush())
}

func writeJSONL(w io.Writer, messages []*session.Message) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, m := range messages {
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

// transcript writes a message for people to read.
func transcript(m model.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n", m.Role)
	if m.Text != "" {
		b.WriteString(strings.TrimRight(m.Text, "\n") + "\n")
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, "calls %s %s\n", c.Name, c.Arguments)
	}
	for _, r := range m.ToolResults {
		fmt.Fprintf(&b, "%s of %s:\n%s\n", resultWord(r), r.ToolCallID, strings.TrimRight(r.Text, "\n"))
	}
	return b.String()
}

func resultWord(r model.ToolResult) string {
	if r.IsError {
		return "error"
	}
	return "result"
}

// markdown writes a transcript as Markdown whose structure is its own, whatever
// the messages say: texts are quoted, so that what they leave open ends with
// the quotation, and what is not Markdown stands in fences longer than any in it.
func markdown(r *session.Record, messages []*session.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session %s\n\n", code(r.ID))
	for _, row := range [][2]string{
		{"agent", r.Agent},
		{"description", r.Description},
		{"status", string(r.Status)},
		{"error", r.Error},
		{"model", r.Model},
		{"parent", r.ParentID},
		{"created", r.CreatedAt.UTC().Format(time.RFC3339)},
		{"tokens", fmt.Sprintf("%d in, %d out", r.Usage.InputTokens, r.Usage.OutputTokens)},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", row[0], code(row[1]))
		}
	}
	names := make(map[string]string) // of calls, by id
	for i, m := range messages {
		fmt.Fprintf(&b, "\n## %d. %s, %s\n", i+1, m.Role, m.CreatedAt.UTC().Format(time.RFC3339))
		if m.Text != "" {
			b.WriteString("\n" + quoted(m.Text))
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Name
			fmt.Fprintf(&b, "\nCalls %s (%s):\n\n%s", code(c.Name), code(c.ID), fenced("json", c.Arguments))
		}
		for _, res := range m.ToolResults {
			fmt.Fprintf(&b, "\nThe %s of %s (%s):\n\n%s", resultWord(res), code(cmp.Or(names[res.ToolCallID], "a call")), code(res.ToolCallID), fenced("", res.Text))
		}
	}
	return b.String()
}

// quoted returns text as a block quotation.
func quoted(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(lineEnds(text), "\n"), "\n") {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return b.String()
}

// fenced returns text as a code block.
func fenced(language, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	return fence + language + "\n" + strings.TrimRight(lineEnds(text), "\n") + "\n" + fence + "\n"
}

// code returns text as a code span on one line.
func code(text string) string {
	text = eventbus.OneLine(lineEnds(text), 2000)
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " " // which the span takes off
	}
	return ticks + text + ticks
}

// lineEnds makes every line end of Markdown a line feed.
func lineEnds(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		run++
		if r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
