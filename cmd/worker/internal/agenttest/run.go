package agenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/recording"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/conversation"
)

// mode is how a case is run.
type mode int

const (
	play       mode = iota // from its recording; on its model if it has none
	live                   // on its model
	recordMode             // the same, and its calls are recorded
)

// run runs a case once, in a copy of its workspace, with a state of its own.
func (p commands) run(ctx context.Context, c *Case, how mode) (_ *outcome, err error) {
	tmp, err := os.MkdirTemp("", "worker-test-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	dir, state := filepath.Join(tmp, "workspace"), filepath.Join(tmp, "state")
	if err := p.prepare(ctx, c, dir, state); err != nil {
		return nil, err
	}
	before, err := hashes(dir)
	if err != nil {
		return nil, err
	}
	normal := recording.NewNormal(map[string]string{dir: "<workspace>", state: "<state>", tmp: "<temporary>"})
	o, err := p.call(ctx, c, dir, state, normal, how)
	if err != nil {
		return nil, err
	}
	after, err := hashes(dir)
	o.changed = changed(before, after)
	return o, err
}

// prepare makes the copy of the workspace, with the files of the case, and its state.
func (p commands) prepare(ctx context.Context, c *Case, dir, state string) error {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(state, 0o700)); err != nil {
		return err
	}
	from := ws.Root
	if c.Workspace.V != "" {
		from = c.Workspace.V
		for _, folder := range agentdefs.Folders() { // the agents are those of the workspace
			agents := filepath.Join(ws.Root, filepath.FromSlash(folder))
			if info, err := os.Stat(agents); err != nil || !info.IsDir() {
				continue
			}
			to := filepath.Join(dir, filepath.FromSlash(folder))
			if err := errors.Join(os.MkdirAll(to, 0o755), copyTree(ctx, agents, to)); err != nil {
				return err
			}
		}
	}
	if err := cmp.Or(copyTree(ctx, from, dir), c.write(dir)); err != nil {
		return fmt.Errorf("%s:%d: %w", c.file, cmp.Or(c.Workspace.line, c.line), err)
	}
	rules, err := c.rules()
	if err == nil && rules != nil {
		err = os.WriteFile(filepath.Join(state, "permissions.jsonc"), rules, 0o600)
	}
	return err
}

// call runs the agent of a case, and records it or plays its recording.
func (p commands) call(ctx context.Context, c *Case, dir, state string, normal *recording.Normal, how mode) (*outcome, error) {
	get := func(name string) (model.Model, error) { return p.Models().Get(cmp.Or(name, c.Model.V)) }
	var player *recording.Player
	var recorder *recording.Recorder
	file := c.Recording.V
	switch {
	case file == "":
	case how == play:
		rec, err := recording.Open(file)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s:%d: there is no recording %s: 'worker test --record' makes it with a model", c.file, cmp.Or(c.Recording.line, c.line), file)
		}
		if err != nil {
			return nil, err
		}
		player = recording.NewPlayer(rec, normal, secrets.Mask)
		get = player.Model
	case how == recordMode:
		if c.script != nil {
			get = c.script.Model(normal)
		}
		recorder = recording.NewRecorder(normal)
		get = recorder.Models(get)
	}
	if player == nil {
		if _, err := get(""); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", c.file, cmp.Or(c.Model.line, c.line), err)
		}
	}
	isolated, err := p.Isolated(dir, state, app.Overrides{Model: get})
	if err != nil {
		return nil, err
	}
	if c.Timeout.V > 0 {
		isolated.Settings.Timeout = c.Timeout.V
	}
	o, err := c.task(ctx, isolated, normal)
	if err != nil {
		return nil, err
	}
	if player != nil {
		o.differs = player.Differences(true)
	}
	if recorder != nil {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		return o, recorder.Recording().Save(file, secrets.Mask)
	}
	return o, nil
}

// task calls the agent in a worker of its own, and returns the outcome.
func (c *Case) task(ctx context.Context, p *app.Program, normal *recording.Normal) (_ *outcome, err error) {
	var approver approval.Approver
	if c.Approve {
		approver = approval.AlwaysYes
	}
	a, err := p.OpenWorker(ctx, approver)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if _, err := a.Tasks.Find(c.Agent.V); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", c.file, c.Agent.line, err)
	}
	root, err := a.Tasks.OpenCaller(ctx, "worker test", record.Owner)
	if err != nil {
		return nil, err
	}
	result := a.Tasks.Call(ctx, root, taskt.Input{
		Description: conversation.FirstWords(c.Prompt.V), Prompt: c.Prompt.V, AgentType: c.Agent.V, Background: new(bool),
	})
	if err := root.End(result.Status, result.Err); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := &outcome{document: result.Document()}
	if c.script != nil {
		r, err := a.Storage.Records.Index.Get(ctx, o.document.SessionID)
		if err != nil {
			return nil, err
		}
		if o.results, err = results(ctx, a.Storage, r, normal); err != nil {
			return nil, err
		}
	}
	return o, o.read(ctx, a.Storage, root.Path())
}

// read reads what was done from the events.
func (o *outcome) read(ctx context.Context, s *app.Storage, path event.Path) error {
	at := make(map[string]int) // of calls, by session and id
	return app.Follow(ctx, s.Bus, path, &eventbus.FollowOptions{}, func(d eventbus.Delivery) error {
		around, ev, err := d.Event()
		if err != nil || len(around) == 0 { // the caller's own are none of the agent's
			return err
		}
		session := around[len(around)-1].SessionID
		switch ev := ev.(type) {
		case event.ToolCallStart:
			at[session+" "+ev.ToolCallID] = len(o.calls)
			o.calls = append(o.calls, called{tool: ev.ToolName})
		case event.ToolCallEnd:
			if i, ok := at[session+" "+ev.ToolCallID]; ok {
				o.calls[i].denied = ev.Refused
			}
		case event.Usage:
			o.tokens += ev.InputTokens + ev.OutputTokens
		}
		return nil
	})
}
