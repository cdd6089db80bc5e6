package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

// storage is the open state of a workspace: what commands that only look need.
type storage struct {
	ws      *workspace.Workspace
	bus     *eventbus.Bus
	records *store.Store
	endStop func() // ends handOverAtStops
}

// openStorage opens the workspace's state, here or through a worker that has it
// open already. It changes nothing there: see recover.
func (p *program) openStorage(ctx context.Context) (_ *storage, err error) {
	ws, err := p.stateOf()
	if err != nil {
		return nil, err
	}
	s := &storage{ws: ws}
	s.bus, err = eventbus.Open(ctx, ws.ID, &eventbus.Options{
		URL: p.settings.NATS, Access: p.settings.Access, Replicas: p.settings.Replicas,
		StoreDir: filepath.Join(ws.StateDir, "nats"), Sync: p.settings.StoreSync(), MaxAge: p.settings.EventAge(), Logger: p.logger(), Lost: p.abort,
	})
	if err != nil {
		return nil, err
	}
	s.endStop = handOverAtStops(s.bus, p.logger())
	if s.records, err = store.Open(ctx, s.bus); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.records.NoteEnds(control.EndNotes)
	return s, nil
}

func (s *storage) close() error {
	s.endStop()
	return s.bus.Close()
}

// recover ends the sessions that killed processes of this machine have left running.
// Commands that run or change sessions call it first. Commands that only read do not.
func (s *storage) recover(ctx context.Context) error {
	if !s.bus.Embedded() { // the workers that run do it
		return nil
	}
	if _, err := s.records.Recover(ctx); err != nil {
		return fmt.Errorf("ending the sessions of an earlier process: %w", err)
	}
	return nil
}

// withSessions has f look at the sessions of the workspace.
func (p *program) withSessions(ctx context.Context, f func(context.Context, *store.Store) error) error {
	return p.withStorage(ctx, func(s *storage) error { return f(ctx, s.records) })
}

// withStorage has f use the state of the workspace.
func (p *program) withStorage(ctx context.Context, f func(*storage) error) (err error) {
	s, err := p.openStorage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return meant(ctx, s.records, f(s))
}

// conversation returns a session's record and messages.
func conversation(ctx context.Context, sessions *store.Store, id string) (*store.Record, []*store.Message, error) {
	r, err := sessions.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	messages, err := sessions.Messages(ctx, r.ID)
	return r, messages, err
}

// meant adds to a "not found" the session or approval that was likely meant.
func meant(ctx context.Context, sessions *store.Store, err error) error {
	var missing *store.NotFoundError
	if !errors.As(err, &missing) {
		return err
	}
	var ids []string
	list := "worker sessions list --all"
	if missing.What == "session" {
		if page, err := sessions.Page(ctx, store.ListOptions{Nested: true}); err == nil { // else nothing is suggested
			for _, r := range page.Sessions {
				ids = append(ids, r.ID)
			}
		}
	} else {
		list = "worker approvals list"
		pending, _ := sessions.Approvals(ctx)
		for _, a := range pending {
			ids = append(ids, a.ID)
		}
	}
	return fmt.Errorf("%w%s: '%s' shows what exists", err, suggest.DidYouMean(missing.ID, ids), list)
}

// operator names the user of a command, for people.
func operator(command string) string {
	if u, err := user.Current(); err == nil {
		return u.Username + " by " + command
	}
	return command
}
