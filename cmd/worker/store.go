package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/session"
)

// store is the open state of a workspace: what commands that only look need.
type store struct {
	ws      *workspace.Workspace
	bus     *eventbus.Bus
	records *session.Store
}

// openStore opens the workspace's state, here or through a worker that has it
// open already, and marks as interrupted the sessions that a killed process left
// running.
func (p *program) openStore(ctx context.Context) (_ *store, err error) {
	ws, err := p.stateOf()
	if err != nil {
		return nil, err
	}
	s := &store{ws: ws}
	s.bus, err = eventbus.Open(ctx, ws.ID, &eventbus.Options{
		URL: p.settings.NATS, Access: p.settings.Access, Replicas: p.settings.Replicas,
		StoreDir: filepath.Join(ws.StateDir, "nats"), MaxAge: p.settings.EventAge(), Logger: p.logger(), Lost: p.abort,
	})
	if err != nil {
		return nil, err
	}
	if s.records, err = session.OpenStore(ctx, s.bus); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.bus.Embedded() {
		if _, err := s.records.Recover(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("ending the sessions of an earlier process: %w", err), s.close())
		}
	}
	return s, nil
}

// stateOf returns the workspace, whose state folder is there.
func (p *program) stateOf() (*workspace.Workspace, error) {
	ws, err := p.workspace()
	if err == nil {
		err = ws.MakeStateDir()
	}
	return ws, err
}

func (s *store) close() error { return s.bus.Close() }
