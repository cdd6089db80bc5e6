package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/session"
)

// store is the open state of a workspace: what commands that only look need.
type store struct {
	ws   *workspace.Workspace
	bus  *eventbus.Bus
	lock *workspace.Lock // nil: external NATS
}

// openStore opens the workspace's state for a worker that runs sessions, and
// marks as interrupted those that a killed process left running. With the
// embedded store there is one such worker at a time.
func (p *program) openStore(ctx context.Context) (*store, error) {
	ws, err := p.stateOf()
	if err != nil {
		return nil, err
	}
	if p.settings.nats != "" {
		return p.openBus(ctx, &store{ws: ws})
	}
	lock, err := ws.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return p.openBus(ctx, &store{ws: ws, lock: lock})
}

// viewWait is how long a command that only looks waits for a worker that runs
// to let it in, or to end.
const viewWait = 5 * time.Second

// openView opens the workspace's state to look at it, or to answer an approval:
// through the worker that has it open, if there is one.
func (p *program) openView(ctx context.Context) (*store, error) {
	if p.settings.nats != "" {
		return p.openStore(ctx)
	}
	ws, err := p.stateOf()
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, viewWait)
	defer cancel()
	for {
		lock, err := ws.TryLock()
		if err == nil {
			return p.openBus(ctx, &store{ws: ws, lock: lock})
		}
		if !errors.Is(err, workspace.ErrLocked) {
			return nil, err
		}
		attempt, stop := context.WithTimeout(waiting, time.Second) // then whether it still runs
		bus, joinErr := eventbus.Join(attempt, ws.ID, shareDir(ws), p.logger())
		stop()
		switch {
		case joinErr == nil:
			return &store{ws: ws, bus: bus}, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case waiting.Err() != nil:
			return nil, fmt.Errorf("%w, and it lets nobody in: %w", err, joinErr)
		}
	}
}

// shareDir is the folder by which a worker lets others at its store.
func shareDir(ws *workspace.Workspace) string { return filepath.Join(ws.StateDir, "share") }

// stateOf returns the workspace, whose state folder is there.
func (p *program) stateOf() (*workspace.Workspace, error) {
	ws, err := p.workspace()
	if err == nil {
		err = ws.MakeStateDir()
	}
	return ws, err
}

// openBus opens the store of s, whose lock is held unless it is elsewhere.
func (p *program) openBus(ctx context.Context, s *store) (_ *store, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	s.bus, err = eventbus.Open(ctx, s.ws.ID, &eventbus.Options{
		URL: p.settings.nats, StoreDir: filepath.Join(s.ws.StateDir, "nats"), ShareDir: shareDir(s.ws), Logger: p.logger(),
	})
	if err != nil {
		return nil, err
	}
	if s.bus.Embedded() {
		records, err := session.OpenStore(ctx, s.bus)
		if err != nil {
			return nil, err
		}
		if _, err := records.Recover(ctx, s.bus); err != nil {
			return nil, fmt.Errorf("ending the sessions of an earlier process: %w", err)
		}
	}
	return s, nil
}

func (s *store) close() error {
	var errs []error
	if s.bus != nil {
		errs = append(errs, s.bus.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}
