// Package workerpeer does the work with this project: a primary agent whose model
// calls task, children from an agent file, every event stored in the embedded
// JetStream before the result, and a consumer that follows the root's stream. It
// uses public packages only.
package workerpeer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// Worker is a worker with an empty store in a temporary folder, and two agents.
type Worker struct {
	Bus   *eventbus.Bus
	Tasks *taskt.Service

	parent *agentdefs.Definition
	script *scen.Script
	close  []func() error
}

// Open is the [scen.Peer].
func Open(s *scen.Script) (scen.Agents, error) { return Start(s) }

// Start starts a worker whose models follow s.
func Start(s *scen.Script) (*Worker, error) {
	w := &Worker{script: s}
	if err := w.start(context.Background()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Worker) start(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "worker-bench-")
	if err != nil {
		return err
	}
	w.onClose(func() error { return os.RemoveAll(dir) })
	root := filepath.Join(dir, "workspace")
	if err := writeAgents(filepath.Join(root, ".agents", "agents")); err != nil {
		return err
	}
	w.Bus, err = eventbus.Open(ctx, "bench", &eventbus.Options{StoreDir: filepath.Join(dir, "store")})
	if err != nil {
		return err
	}
	w.onClose(w.Bus.Close)
	agents, err := agentdefs.Open(ctx, root, nil)
	if err != nil {
		return err
	}
	w.onClose(func() error { agents.Close(); return nil })
	log, err := audit.Open(ctx, w.Bus, audit.Options{User: "bench"})
	if err != nil {
		return err
	}
	w.onClose(log.Close)
	sessions, err := session.OpenManager(ctx, session.Options{
		Bus:       w.Bus,
		Audit:     log,
		Workspace: permission.Workspace{Root: root},
		Static:    allowAll{},
		Model:     func(name string) (model.Model, error) { return scripted{w.script, name == scen.ParentName}, nil },
	})
	if err != nil {
		return err
	}
	w.onClose(sessions.Close)
	w.Tasks, err = taskt.New(taskt.Options{
		Sessions: sessions, Agents: agents, Root: root, Tools: []tool.Tool{echo{w.script}},
		Limits: taskt.Limits{Running: 10_000, PerParent: 10_000},
	})
	if err != nil {
		return err
	}
	var ok bool
	if w.parent, ok = agents.Snapshot().Agent(scen.ParentName); !ok {
		return fmt.Errorf("the snapshot has no agent %s", scen.ParentName)
	}
	return nil
}

func writeAgents(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, mode := range map[string]string{scen.ParentName: "primary", scen.ChildName: "subagent"} {
		text := fmt.Sprintf("---\ndescription: %s\nmode: %s\nmodel: %[1]s\npermission:\n  \"*\": allow\n---\n%s", name, mode, scen.Instruction)
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) onClose(f func() error) { w.close = append(w.close, f) }

// Close ends what Start has started, and deletes the folder.
func (w *Worker) Close() error {
	var errs []error
	for len(w.close) > 0 {
		last := len(w.close) - 1
		errs = append(errs, w.close[last]())
		w.close = w.close[:last]
	}
	return errors.Join(errs...)
}

// Run opens a root session, follows its stream and prompts it.
func (w *Worker) Run(ctx context.Context, k *scen.Sink) (string, error) {
	root, err := w.Tasks.OpenPrimary(ctx, w.parent, "bench")
	if err != nil {
		return "", err
	}
	followed := make(chan error, 1)
	go func() { followed <- w.follow(ctx, root, k) }()
	out := root.Prompt(ctx, scen.UserText)
	ended := root.End(out.Status, out.Err)
	return out.Text, errors.Join(out.Err, ended, <-followed)
}
