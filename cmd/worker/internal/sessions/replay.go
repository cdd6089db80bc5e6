package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/recording"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/conversation"
	"github.com/agentworker/worker/tool"
)

// Replay is 'worker replay'.
func Replay(program *app.Program) *cobra.Command {
	p := commands{program}
	return &cobra.Command{
		Use:   "replay BUNDLE",
		Short: "Play a session from a bundle, and say where it departs",
		Long: `Plays the session of BUNDLE, a file of 'worker sessions export --bundle', with this worker:
its agents, its rules and the policy of this machine. The answers of the model and the
results of the tools are those of the bundle: no model is called, no tool runs, and nothing
of yours is read or written. What differs from here, and where the run departs from what was
recorded, is printed.

Exit status: 0 the run is as recorded, 1 it departs, 2 wrong use.`,
		Example: `  worker replay report.tar.gz`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := Open(args[0])
			if err != nil {
				return cli.Usage(err)
			}
			return p.replay(cmd.Context(), b)
		},
	}
}

func (p commands) replay(ctx context.Context, b *Bundle) (err error) {
	tmp, err := os.MkdirTemp("", "worker-replay-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	dir, state := filepath.Join(tmp, "workspace"), filepath.Join(tmp, "state")
	if err := b.unpack(dir, state); err != nil {
		return err
	}
	p.compare(ctx, b)
	player := recording.NewPlayer(b.Recording, recording.NewNormal(map[string]string{dir: "<workspace>", state: "<state>"}), secrets.Mask)
	played := &calls{left: b.Calls}
	isolated, err := p.Isolated(dir, state, app.Overrides{Model: player.Model, Tools: played.tools})
	if err != nil {
		return err
	}
	status, text, err := b.run(ctx, isolated, played.approver())
	if err != nil {
		return err
	}
	departs := append(player.Differences(true), played.missing...)
	if status != b.Manifest.Status {
		departs = append(departs, fmt.Sprintf("the end: it is %s, and was %s: %s", status, b.Manifest.Status, text))
	}
	fmt.Fprintf(p.Stdout, "played    %s, %s\n", termtext.Plural(len(b.Recording.Calls), "model call"), termtext.Plural(len(b.Calls), "tool call"))
	for _, d := range departs {
		fmt.Fprintf(p.Stdout, "departs at %s\n", termtext.OneLine(d, termtext.MaxReport))
	}
	if len(departs) > 0 {
		return cli.Failed
	}
	_, err = fmt.Fprintln(p.Stdout, "The run is as recorded.")
	return err
}

// unpack writes what a run needs of a bundle into folders of its own.
func (b *Bundle) unpack(dir, state string) error {
	agents := filepath.Join(dir, ".agents", "agents")
	err := errors.Join(os.MkdirAll(agents, 0o755), os.Mkdir(state, 0o700))
	for name, data := range b.Agents { // the names are checked
		err = errors.Join(err, os.WriteFile(filepath.Join(agents, name), data, 0o644))
	}
	if b.Rules != nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(state, "permissions.jsonc"), b.Rules, 0o600))
	}
	return err
}

// compare prints what the bundle has, and what differs here.
func (p commands) compare(ctx context.Context, b *Bundle) {
	m := &b.Manifest
	row := func(name, value, note string) {
		if value != "" {
			fmt.Fprintf(p.Stdout, "%-9s %s%s\n", name, termtext.OneLine(value, termtext.MaxCause), note)
		}
	}
	here := func(same bool) string {
		if same {
			return ", as here"
		}
		return ", another here"
	}
	row("session", m.SessionID, "")
	row("agent", m.Agent+" on "+m.Model+", "+m.Status, "")
	row("error", m.Error, "")
	row("worker", m.Worker+" "+m.System, here(m.Worker == app.Version()))
	ws, err := p.Workspace()
	if err != nil {
		return
	}
	for name, hash := range m.Agents {
		data, _ := os.ReadFile(filepath.Join(ws.Root, ".agents", "agents", name)) // nothing: another
		row("file", name, here(Hash(data) == hash))
	}
	rules, _ := os.ReadFile(app.RulesFile(ws))
	row("rules", m.Rules, here(Hash(rules) == m.Rules))
	row("policy", m.Policy, "")
	commit, _ := worktree.Git(ctx, ws.Root, "rev-parse", "--verify", "HEAD")
	row("commit", m.Commit, here(strings.TrimSpace(string(commit)) == m.Commit))
	if len(b.Diff) > 0 {
		row("diff", fmt.Sprintf("%d bytes", len(b.Diff)), "")
	}
}

// run runs the agent of a bundle again.
func (b *Bundle) run(ctx context.Context, p *app.Program, approver approval.Approver) (status, text string, err error) {
	a, err := p.OpenWorker(ctx, approver)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if b.Manifest.Primary {
		def, err := conversation.Find(a.Agents.Snapshot(), b.Manifest.Agent)
		if err != nil {
			return "", "", err
		}
		root, err := a.Tasks.OpenPrimary(ctx, def, "worker replay")
		if err != nil {
			return "", "", err
		}
		outcome := root.Prompt(ctx, b.Manifest.Prompt)
		text := outcome.Text
		if outcome.Err != nil {
			text = errtext.Of(outcome.Err)
		}
		return string(outcome.Status), text, root.End(outcome.Status, outcome.Err)
	}
	root, err := a.Tasks.OpenCaller(ctx, "worker replay", record.Owner)
	if err != nil {
		return "", "", err
	}
	result := a.Tasks.Call(ctx, root, taskt.Input{Description: "replay", Prompt: b.Manifest.Prompt, AgentType: b.Manifest.Agent, Background: new(bool)})
	return string(result.Status), result.Text, root.End(result.Status, result.Err)
}

// calls are the tool calls of a bundle that were not made yet.
type calls struct {
	mu      sync.Mutex
	left    []Call
	missing []string
}

// remove removes and returns the recorded call with these arguments.
func (c *calls) remove(agent, id, tool string, args json.RawMessage) (Call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var check struct{ Command string }
	_ = json.Unmarshal(args, &check) // not one of a command: no check has these
	for i, call := range c.left {
		same := call.ID == id || call.ID == "" && call.Arguments == check.Command
		if call.Agent == agent && call.Tool == tool && !call.Refused && same {
			c.left = append(c.left[:i:i], c.left[i+1:]...)
			return call, true
		}
	}
	c.missing = append(c.missing, fmt.Sprintf("a call of %s by %s: the bundle has no result of it: %s", tool, agent, args))
	return Call{}, false
}

// tools returns tools that answer with the results of the bundle, and run nothing.
func (c *calls) tools(all []tool.Tool) []tool.Tool {
	var made []tool.Tool
	for _, t := range all {
		if sandboxed, ok := t.(tool.Sandboxed); ok {
			made = append(made, &playedSandboxed{played{t, c}, sandboxed})
		} else {
			made = append(made, &played{t, c})
		}
	}
	return made
}

// played is a tool whose calls have recorded results.
type played struct {
	tool.Tool
	from *calls
}

// Run implements [tool.Tool].
func (t *played) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	made, ok := t.from.remove(call.Agent, call.ID, t.Spec().Name, call.Args)
	if !ok {
		return tool.Errorf("the bundle has no result of this call"), nil
	}
	return tool.Result{Text: made.Result, IsError: made.IsError}, nil
}

// playedSandboxed is played for a tool that the sandbox holds: the gate judges it so.
type playedSandboxed struct {
	played
	sandboxed tool.Sandboxed
}

// Held implements [tool.Sandboxed].
func (t *playedSandboxed) Held(sessionID string, rules *permission.Layers) (bool, string) {
	return t.sandboxed.Held(sessionID, rules)
}

// EndSession implements [tool.Sandboxed].
func (t *playedSandboxed) EndSession(string) error { return nil }

// nobody is the text of a refusal because nobody could be asked.
const nobody = "Nobody can answer here"

// approver gives the recorded answers; it is nil if nobody could be asked.
func (c *calls) approver() approval.Approver {
	answers := make(map[string]approval.Answer)
	for _, call := range c.left {
		answer := approval.Answer{Verdict: approval.ApproveOnce, By: "the bundle"}
		if call.Refused {
			if strings.Contains(call.Result, nobody) {
				return nil
			}
			answer.Verdict = approval.DenyCall
			_, answer.Feedback, _ = strings.Cut(call.Result, "The user denied "+call.Tool+": ")
		}
		answers[call.Agent+" "+call.ID] = answer
	}
	return approval.Recorded(func(_ context.Context, req *approval.Approval) (approval.Answer, error) {
		answer, ok := answers[req.Agent+" "+req.ToolCallID]
		if !ok {
			return approval.Answer{Verdict: approval.DenyCall, By: "the bundle"}, nil
		}
		return answer, nil
	})
}
