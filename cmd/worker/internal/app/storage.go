package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/control"
)

// Storage is the open state of a workspace, which is all that commands without tasks need.
type Storage struct {
	Workspace *workspace.Workspace
	Bus       *eventbus.Bus
	Records   *store.Store
	endStop   func() // ends handOverAtStops
}

// OpenStorage opens the workspace's state, here or through a worker that has it open
// already. It changes nothing there: see [Storage.Recover].
func (p *Program) OpenStorage(ctx context.Context) (_ *Storage, err error) {
	ws, err := p.StateOf()
	if err != nil {
		return nil, err
	}
	return openStorage(ctx, p, ws, p.Settings.NATS)
}

// openStorage opens the state of a workspace, on a NATS server or, without a URL, in its folder.
func openStorage(ctx context.Context, p *Program, ws *workspace.Workspace, url string) (_ *Storage, err error) {
	s := &Storage{Workspace: ws}
	s.Bus, err = eventbus.Open(ctx, ws.ID, &eventbus.Options{
		URL: url, Access: p.Settings.Access, Replicas: p.Settings.Replicas,
		StoreDir: filepath.Join(ws.StateDir, "nats"), Sync: p.Settings.StoreSync, CheckFiles: p.CheckFiles, MaxAge: p.Settings.EventAge(), Logger: p.Logger(), Lost: p.Abort,
	})
	if err != nil {
		return nil, err
	}
	s.endStop = handOverAtStops(s.Bus, p.Live, p.Logger())
	if s.Records, err = store.Open(ctx, s.Bus); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Records.Notices.EndNotes = control.EndNotes
	return s, nil
}

// Close closes the state of the workspace.
func (s *Storage) Close() error {
	s.endStop()
	return s.Bus.Close()
}

// Recover ends the sessions that killed processes of this machine have left open. Commands
// that run or change sessions call it first. Commands that only read do not.
func (s *Storage) Recover(ctx context.Context) error {
	if !s.Bus.Health().Embedded { // the workers that run do it
		return nil
	}
	var ended []*record.Record
	s.Records.Recovery.Ended = func(r *record.Record) { ended = append(ended, r) }
	_, err := s.Records.Recovery.Recover(ctx)
	if err = errors.Join(err, s.auditEnds(ctx, ended)); err != nil {
		return fmt.Errorf("ending the sessions of an earlier process: %w", err)
	}
	return nil
}

// WithSessions calls f with the sessions of the workspace.
func (p *Program) WithSessions(ctx context.Context, f func(context.Context, *store.Store) error) error {
	return p.WithStorage(ctx, func(s *Storage) error { return f(ctx, s.Records) })
}

// WithStorage calls f with the state of the workspace, and closes it.
func (p *Program) WithStorage(ctx context.Context, f func(*Storage) error) (err error) {
	s, err := p.OpenStorage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return Meant(ctx, s.Records, f(s))
}

// Conversation returns a session's record and messages.
func Conversation(ctx context.Context, sessions *store.Store, id string) (*record.Record, []*log.Message, error) {
	r, err := sessions.Index.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	messages, err := sessions.Transcripts.Messages(ctx, r.ID)
	return r, messages, err
}

// Meant adds to a "not found" the session or approval that was likely meant.
func Meant(ctx context.Context, sessions *store.Store, err error) error {
	var missing *record.NotFoundError
	if !errors.As(err, &missing) {
		return err
	}
	var ids []string
	list := "worker sessions list --all"
	if missing.What == "session" {
		if page, err := sessions.Index.Page(ctx, index.ListOptions{Nested: true}); err == nil { // else nothing is suggested
			for _, r := range page.Sessions {
				ids = append(ids, r.ID)
			}
		}
	} else {
		list = "worker approvals list"
		pending, _ := sessions.Approvals.Pending(ctx)
		for _, a := range pending {
			ids = append(ids, a.ID)
		}
	}
	return fmt.Errorf("%w%s: '%s' shows what exists", err, suggest.DidYouMean(missing.ID, ids), list)
}

// OpenAudit opens the audit log of a workspace. It is closed before the storage.
func (p *Program) OpenAudit(ctx context.Context, s *Storage) (*audit.Log, error) {
	return audit.Open(ctx, s.Bus, audit.Options{
		User: thisUser(), MaxBytes: p.Settings.AuditBytes(), MaxAge: p.Settings.AuditAge, Logger: p.Logger(),
	})
}

// auditEnds records in the audit log that sessions of killed processes were ended.
func (s *Storage) auditEnds(ctx context.Context, ended []*record.Record) error {
	if len(ended) == 0 {
		return nil
	}
	log, err := audit.Open(ctx, s.Bus, audit.Options{User: thisUser()})
	if err != nil {
		return err
	}
	for _, r := range ended {
		err = errors.Join(err, log.Add(session.EndRecord(r)))
	}
	return errors.Join(err, log.Close())
}

// thisUser names the user of the process and the machine.
func thisUser() string {
	name := "?"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// Follow hands each delivery to show until the session at the end of path has
// ended, or the stored events have where opts are not live.
func Follow(ctx context.Context, bus *eventbus.Bus, path event.Path, opts *eventbus.FollowOptions, show func(eventbus.Delivery) error) error {
	for d, err := range bus.Follow(ctx, path, opts) {
		if err != nil {
			return err
		}
		if err := show(d); err != nil {
			return err
		}
		if d.Ends() {
			return nil
		}
	}
	return nil
}

// PrintEvent writes an event as one line of JSON, with its sequence number and
// time as the last two fields.
func PrintEvent(w io.Writer, d eventbus.Delivery) error {
	at, err := json.Marshal(d.Time.UTC())
	if err != nil {
		return err
	}
	var line bytes.Buffer
	line.Write(bytes.TrimSuffix(d.Raw, []byte("}")))
	line.WriteString(`,"seq":` + strconv.FormatUint(d.Seq, 10) + `,"time":`)
	line.Write(at)
	line.WriteString("}\n")
	_, err = w.Write(line.Bytes())
	return err
}
