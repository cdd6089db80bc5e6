package sessions

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/session/transcript"
)

// The formats of a transcript.
var logFormats = []string{"text", "jsonl", "markdown"}

func (p commands) logCommand() *cobra.Command {
	var opts logOptions
	cmd := &cobra.Command{
		Use:   "log SESSION",
		Short: "Print a session's transcript",
		Long: `Prints the messages of SESSION: an id, or the start of one. As jsonl each message is a
line of JSON, as it is stored, with its schema; markdown is for people.`,
		Example: `  worker sessions log ses_4f2k --format markdown >transcript.md
  worker sessions log ses_4f2k --format jsonl | jq -r .text`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(logFormats, opts.format) {
				return cli.Usage(fmt.Errorf("--format %s: it is one of %s", opts.format, strings.Join(logFormats, ", ")))
			}
			if opts.limit < 0 {
				return cli.Usage(fmt.Errorf("--limit %d: it is the number of messages, 0 for all", opts.limit))
			}
			return p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error {
				return p.logSession(ctx, sessions, args[0], opts)
			})
		},
	}
	cmd.Flags().IntVar(&opts.limit, "limit", 0, "print this many of the last messages (default all)")
	cmd.Flags().BoolVar(&opts.tools, "tools", true, "print tool calls and their results; --tools=false leaves them out")
	cmd.Flags().StringVar(&opts.format, "format", logFormats[0], strings.Join(logFormats, ", "))
	cli.CompleteFlag(cmd, "format", cobra.FixedCompletions(logFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// logOptions say what is printed of a transcript.
type logOptions struct {
	format string
	limit  int // of messages, the last ones; 0 means all
	tools  bool
}

// of returns the messages that are printed.
func (o *logOptions) of(messages []*log.Message) []*log.Message {
	if !o.tools {
		var plain []*log.Message
		for _, m := range messages {
			spoken := *m
			if spoken.ToolCalls, spoken.ToolResults = nil, nil; spoken.Text != "" {
				plain = append(plain, &spoken)
			}
		}
		messages = plain
	}
	if o.limit > 0 && len(messages) > o.limit {
		messages = messages[len(messages)-o.limit:]
	}
	return messages
}

func (p commands) logSession(ctx context.Context, sessions *store.Store, id string, opts logOptions) error {
	r, messages, err := app.Conversation(ctx, sessions, id)
	if err != nil {
		return err
	}
	messages = opts.of(messages)
	if opts.format == "jsonl" {
		return writeJSONL(p.JSONOut(), messages)
	}
	out := bufio.NewWriter(p.Stdout)
	switch opts.format {
	case "markdown":
		_, err = out.WriteString(termtext.Printable(transcript.Markdown(r, messages)))
	default:
		for _, m := range messages {
			if _, err = out.WriteString(termtext.Printable(transcript.Text(m))); err != nil {
				break
			}
		}
	}
	return cmp.Or(err, out.Flush())
}

func writeJSONL(w io.Writer, messages []*log.Message) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, m := range messages {
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}
