package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/recording"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

func (p commands) exportCommand() *cobra.Command {
	var bundled bool
	var output string
	cmd := &cobra.Command{
		Use:   "export --bundle SESSION",
		Short: "Write a session to a file that 'worker replay' plays again",
		Long: `Writes SESSION (an id, or the start of one) that has ended, with its subagents, as a
bundle: prompts, answers, tool calls and their results, the files of the agents, the rules,
the hash of the policy, versions, and git's commit and diff. Others play it with 'worker
replay', without a key and without your files.

What looks like a common key is masked, but look through the bundle before you share it:
'tar xzf' unpacks it. Only you can read the file.`,
		Example:           `  worker sessions export --bundle ses_4f2k --output report.tar.gz`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.CompleteSessions(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !bundled {
				return cli.Usage(errors.New("--bundle is missing, the only form of export: 'worker sessions log --format markdown' prints a transcript"))
			}
			return p.WithStorage(cmd.Context(), func(s *app.Storage) error { return p.export(cmd.Context(), s, args[0], output) })
		},
	}
	cmd.Flags().BoolVar(&bundled, "bundle", false, "as a bundle, which 'worker replay' plays")
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file (default SESSION.tar.gz)")
	return cmd
}

func (p commands) export(ctx context.Context, s *app.Storage, id, output string) error {
	r, err := s.Records.Index.Get(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case !r.Status.Ended():
		return fmt.Errorf("session %s has not ended", r.ID)
	case r.Agent == "":
		return cli.Usage(fmt.Errorf("session %s is a caller's: name one of its subagents", r.ID))
	}
	b, err := p.collect(ctx, s, r)
	if err != nil {
		return err
	}
	if output == "" {
		output = r.ID + ".tar.gz"
	}
	if err := b.Write(output); err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "%s: look through it before you share it\n", output)
	return nil
}

// collect makes the bundle of a session.
func (p commands) collect(ctx context.Context, s *app.Storage, r *record.Record) (*Bundle, error) {
	ws := s.Workspace
	normal := recording.NewNormal(map[string]string{ws.Root: "<workspace>", ws.StateDir: "<state>"})
	b := &Bundle{Recording: recording.New(), Agents: map[string][]byte{}, Manifest: Manifest{
		Version: Version, Worker: app.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, SessionID: r.ID, Agent: r.Agent,
		Primary: r.ParentID == "", Model: r.Model, Status: string(r.Status), Error: secrets.Mask(normal.Text(r.Error)), Policy: r.Policy, Agents: map[string]string{},
	}}
	b.Recording.Models[""] = r.Model
	tree, err := s.Records.Index.Tree(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{r.Agent: true}
	for _, one := range tree {
		names[one.Agent] = true
		stored, err := s.Records.Transcripts.Messages(ctx, one.ID)
		if err != nil {
			return nil, err
		}
		var messages []model.Message
		for _, m := range stored {
			messages = append(messages, m.Message)
		}
		if one.ID == r.ID && len(messages) > 0 {
			b.Manifest.Prompt = secrets.Mask(messages[0].Text)
			if last := messages[len(messages)-1]; last.Role == model.Assistant {
				b.Manifest.Answer = secrets.Mask(normal.Text(last.Text))
			}
		}
		b.Recording.Conversation(normal, messages)
	}
	b.Recording = b.Recording.Masked(secrets.Mask)
	if err := b.calls(ctx, s, r, normal); err != nil {
		return nil, err
	}
	return b, p.files(ctx, s, b, names)
}

// calls reads the tool calls from the events.
func (b *Bundle) calls(ctx context.Context, s *app.Storage, r *record.Record, normal *recording.Normal) error {
	running := make(map[string]event.ToolCallStart)
	masked := func(text string) string { return secrets.Mask(normal.Text(text)) }
	return app.Follow(ctx, s.Bus, r.Path, &eventbus.FollowOptions{}, func(d eventbus.Delivery) error {
		around, ev, err := d.Event()
		if err != nil {
			return err
		}
		agent, id := r.Agent, ""
		if n := len(around); n > 0 {
			agent, id = around[n-1].AgentType, around[n-1].SessionID
		}
		switch ev := ev.(type) {
		case event.ToolCallStart:
			running[id+" "+ev.ToolCallID] = ev
		case event.ToolCallEnd:
			call := running[id+" "+ev.ToolCallID]
			b.Calls = append(b.Calls, Call{agent, ev.ToolCallID, ev.ToolName, masked(call.Arguments), masked(ev.Result), ev.IsError, ev.Refused})
		case event.Check:
			if ev.Command != "" {
				b.Calls = append(b.Calls, Call{Agent: agent, Tool: toolcatalog.ShellExec, Arguments: masked(ev.Command), Result: masked(ev.Output), IsError: !ev.OK})
			}
		}
		return nil
	})
}

// files adds the files of the agents, the rules, and what git says.
func (p commands) files(ctx context.Context, s *app.Storage, b *Bundle, names map[string]bool) error {
	snapshot, err := p.LoadAgents()
	if err != nil {
		return err
	}
	for _, def := range snapshot.Agents() {
		if def.BuiltIn || !names[def.Name] {
			continue
		}
		file := filepath.FromSlash(def.File)
		if !filepath.IsAbs(file) {
			file = filepath.Join(s.Workspace.Root, file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := path.Base(filepath.ToSlash(def.File))
		if !agentFile.MatchString(name) {
			return fmt.Errorf("the file %s has a name that a bundle does not have: use letters, digits, - and _", def.File)
		}
		b.Agents[name] = []byte(secrets.Mask(string(data)))
		b.Manifest.Agents[name] = Hash(b.Agents[name])
	}
	rules, err := os.ReadFile(app.RulesFile(s.Workspace))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		b.Rules = []byte(secrets.Mask(string(rules)))
		b.Manifest.Rules = Hash(b.Rules)
	}
	commit, err := worktree.Git(ctx, s.Workspace.Root, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return nil // not in a repository, or without a commit
	}
	b.Manifest.Commit = strings.TrimSpace(string(commit))
	diff, err := worktree.Git(ctx, s.Workspace.Root, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "HEAD")
	if err == nil && len(diff) > 0 {
		b.Diff = []byte(secrets.Mask(string(diff)))
		b.Manifest.Diff = Hash(b.Diff)
	}
	return err
}
