package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/tui"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/conversation"
)

// talkOptions are the flags of a conversation.
type talkOptions struct {
	interactive bool
	resume      string   // the session to resume; empty means a new one
	given       []string // the other flags, as a shell takes them
}

func (o *talkOptions) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "talk with the agent on the terminal")
	cmd.Flags().StringVar(&o.resume, "resume", "", "with -i: go on with the conversation of this session")
}

// note keeps the flags that were given, for the hint on how to resume.
func (o *talkOptions) note(flags *pflag.FlagSet) {
	flags.Visit(func(f *pflag.Flag) {
		switch values, several := f.Value.(pflag.SliceValue); {
		case f.Name == "interactive" || f.Name == "resume":
		case several:
			for _, value := range values.GetSlice() {
				o.given = append(o.given, flagOf(f.Name, value))
			}
		default:
			o.given = append(o.given, flagOf(f.Name, f.Value.String()))
		}
	})
}

// flagOf returns a flag as a shell takes it.
func flagOf(name, value string) string {
	if value == "true" {
		return "--" + name
	}
	quoted, err := syntax.Quote(value, syntax.LangPOSIX)
	if err != nil { // it has characters that no shell takes
		quoted = strconv.Quote(value)
	}
	return "--" + name + "=" + quoted
}

// args checks the arguments of the command: the prompt can be missing where it is typed.
func (o *talkOptions) args(cmd *cobra.Command, args []string) error {
	switch {
	case o.interactive:
		return cobra.MaximumNArgs(1)(cmd, args)
	case o.resume != "":
		return errors.New("--resume goes with -i; 'worker sessions resume' has a subagent go on")
	}
	return cobra.ExactArgs(1)(cmd, args)
}

// talk is a conversation of the user with a primary agent.
func (p commands) talk(ctx context.Context, name, prompt string, talk talkOptions, opts runOptions) error {
	if opts.json || opts.events {
		return cli.Usage(errors.New("--json and --events can't be used with -i"))
	}
	if err := p.NeedScreen("worker run -i", "'worker run PROMPT' runs the agent without one"); err != nil {
		return err
	}
	if err := p.Models().Check(); err != nil {
		return err
	}
	var last string
	err := p.OnScreen(func() (err error) {
		c := &talker{p: p, ctx: ctx, items: make(chan any)}
		var approver approval.Approver = c
		if opts.yes {
			approver = approval.AlwaysYes
		}
		if c.a, err = p.OpenWorker(ctx, approver); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, app.Leave(p.Program, c.a)) }()
		defer func() { err = errors.Join(err, c.end()); last = c.last() }()
		resumes, err := c.choose(ctx, name, talk.resume)
		if err != nil {
			return err
		}
		var closed context.CancelFunc
		c.screen, closed = context.WithCancel(ctx)
		defer closed()
		screen := tui.NewChat(ctx, c, p.OutTerm, time.Now, c.greeting(ctx, resumes), strings.TrimSpace(prompt))
		return tui.Run(ctx, screen, c.feed, p.Environ)
	})
	if last != "" {
		resume := append([]string{"worker run -i --resume", last}, talk.given...)
		fmt.Fprintf(p.Stderr, "'%s' resumes this conversation\n", termtext.OneLine(strings.Join(resume, " "), termtext.MaxText))
	}
	return err
}

// choose finds the agent, and the session to resume; nil means a new one.
func (c *talker) choose(ctx context.Context, name, resume string) (*record.Record, error) {
	snapshot := c.a.Agents.Snapshot()
	var resumes *record.Record
	if resume != "" {
		r, err := c.a.Records.Index.Get(ctx, resume)
		if err == nil {
			r, err = c.a.Records.Index.Newest(ctx, r)
		}
		switch {
		case err != nil:
			return nil, app.Meant(ctx, c.a.Records, err)
		case !r.Status.Ended():
			return nil, fmt.Errorf("session %s has not ended: 'worker sessions send %s MESSAGE' sends it a message", r.ID, r.ID)
		case r.ParentID != "" || r.Agent == "":
			return nil, cli.Usage(fmt.Errorf("session %s is no conversation: 'worker sessions resume' has a subagent go on", r.ID))
		}
		name = cmp.Or(name, r.Agent)
		resumes = r
	}
	def, err := conversation.Find(snapshot, name)
	c.p.ReportAgent(snapshot, def, name)
	if err != nil {
		return nil, cli.Usage(err)
	}
	if _, err = c.p.model(def.Model); err != nil {
		return nil, err
	}
	c.Conversation = conversation.New(c.ctx, conversation.Options{
		Tasks: c.a.Tasks, Agents: c.a.Agents, Agent: def, AskedBy: record.Owner, Resumes: resumes, Opened: c.opened,
	})
	return resumes, nil
}

// greeting is what a conversation begins with.
func (c *talker) greeting(ctx context.Context, resumes *record.Record) string {
	text := fmt.Sprintf("%s on %s. /help lists the commands, ctrl+d ends.", c.Agent().Name, c.Model())
	if resumes == nil {
		return text
	}
	text += "\nIt goes on with session " + resumes.ID + "."
	messages, err := c.a.Records.Transcripts.Conversation(ctx, resumes.ID)
	if err != nil {
		return text + "\n" + errtext.Of(err) // the first prompt fails by it
	}
	return text + history(messages)
}

const (
	// maxTurns is how much of a conversation is shown when it is resumed, in texts of either side.
	maxTurns = 6

	// maxTurn bounds each of them, in bytes.
	maxTurn = 2000
)

// history returns the end of a conversation: what was asked and answered last.
func history(messages []*log.Message) string {
	said := slices.DeleteFunc(slices.Clone(messages), func(m *log.Message) bool {
		return strings.TrimSpace(m.Text) == "" || strings.HasPrefix(m.ID, outcome.NoticeIDs)
	})
	var b strings.Builder
	for _, m := range said[max(0, len(said)-maxTurns):] {
		text := termtext.Printable(termtext.CutBytes(secrets.Mask(strings.TrimSpace(m.Text)), maxTurn))
		if m.Role == model.User {
			text = "> " + text
		}
		b.WriteString("\n\n" + text)
	}
	return b.String()
}

// Agents implements [tui.Agent].
func (c *talker) Agents() []string {
	lines := []string{c.Agent().Name + "  you talk with it"}
	for _, d := range c.a.Agents.Snapshot().Agents() {
		if d.Mode != agentdefs.Primary && !d.Hidden {
			lines = append(lines, termtext.OneLine(d.Name, termtext.MaxName)+"  "+termtext.OneLine(strings.TrimSpace(d.Description), termtext.MaxLabel))
		}
	}
	return lines
}
