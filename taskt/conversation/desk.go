package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
)

// maxTalks bounds the conversations of a desk: each keeps what was said in memory.
const maxTalks = 100

// ErrFull is the error of a conversation that is one too many.
var ErrFull = fmt.Errorf("%d conversations are open: stop one that is not needed any more", maxTalks)

// Desk has the conversations of people who name a session with each message, as the live page
// does. A message is the session's next prompt, or its agent reads it before its next step. A Desk
// is safe for concurrent use. Close it.
type Desk struct {
	tasks    *taskt.Service
	agents   taskt.Agents
	sessions *store.Store
	log      *slog.Logger

	ctx   context.Context
	stop  context.CancelFunc
	turns sync.WaitGroup

	mu    sync.Mutex
	over  bool
	talks map[string]*talk // by the id of the newest session
}

// talk is one conversation of a desk. The desk's mu guards it.
type talk struct {
	*Conversation
	id   string // of its newest session; empty means it has none yet
	root *session.Session
	busy bool     // a turn is made
	next []string // prompts that wait for its end
}

// NewDesk returns a desk without conversations.
func NewDesk(tasks *taskt.Service, agents taskt.Agents, sessions *store.Store, log *slog.Logger) *Desk {
	d := &Desk{tasks: tasks, agents: agents, sessions: sessions, log: log, talks: make(map[string]*talk)}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// Close ends the turns and the conversations, and waits for that.
func (d *Desk) Close() error {
	d.mu.Lock()
	d.over = true
	open := slices.Collect(maps.Values(d.talks))
	idle := slices.DeleteFunc(slices.Clone(open), func(t *talk) bool { return t.busy })
	d.mu.Unlock()
	var errs []error
	end := func(talks []*talk) {
		for _, t := range talks {
			errs = append(errs, t.End())
		}
	}
	end(idle) // in order, before others are cut short
	d.stop()
	d.turns.Wait()
	end(open)
	return errors.Join(errs...)
}

// Start begins a conversation with a primary agent, as [Find] finds it, and returns the id
// of its session. It does not wait for the answer. by is the person.
func (d *Desk) Start(ctx context.Context, by record.Person, agent, prompt string) (id string, err error) {
	def, err := Find(d.agents.Snapshot(), agent)
	if err != nil {
		return "", err
	}
	return d.begin(ctx, Options{Agent: def, AskedBy: by}, prompt)
}

// Say continues the conversation of a session. An agent that works reads the text before its next
// step. For one that waits or has ended it is the next prompt. Say returns the id of the session
// that has the text, which is a new one if the named one has ended. by is the person.
func (d *Desk) Say(ctx context.Context, by record.Person, id, text string) (string, error) {
	d.mu.Lock()
	t := d.talks[id]
	if t != nil && (t.busy || !t.root.Record().Status.Ended()) {
		defer d.mu.Unlock()
		t.root.AskedFor(by)
		if !t.busy {
			return id, d.turn(t, text, nil)
		}
		message := requests.SendRequest{SessionID: id, MessageID: record.NewID("msg"), Text: text, By: by}
		if t.root.Send(message) != nil { // it concludes
			t.next = append(t.next, text)
		}
		return id, nil
	}
	d.mu.Unlock()
	rec, err := d.sessions.Index.Get(ctx, id)
	if err == nil {
		rec, err = d.sessions.Index.Newest(ctx, rec)
	}
	switch {
	case err != nil:
		return "", err
	case rec.ParentID != "" || rec.Agent == "":
		return "", fmt.Errorf("session %s is no conversation", id)
	case !rec.Status.Ended() && rec.ID != id:
		return d.Say(ctx, by, rec.ID, text)
	case !rec.Status.Ended(): // another process has it
		_, err := d.sessions.Requests.Send(ctx, requests.SendRequest{SessionID: rec.ID, MessageID: record.NewID("msg"), Text: text, By: by})
		return rec.ID, err
	}
	def, err := Find(d.agents.Snapshot(), rec.Agent)
	if err != nil {
		return "", err
	}
	return d.begin(ctx, Options{Agent: def, AskedBy: by, Resumes: rec}, text)
}

// begin has a conversation make its first turn, and returns its session once that is open.
func (d *Desk) begin(ctx context.Context, opts Options, prompt string) (string, error) {
	opts.Tasks, opts.Agents = d.tasks, d.agents
	t := new(talk)
	opened := make(chan error, 2) // of the first session, and of the first turn
	opts.Opened = func(root *session.Session) {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.talks, t.id)
		t.id, t.root = root.ID(), root
		d.talks[t.id] = t
		select {
		case opened <- nil:
		default: // nobody waits for the next run
		}
	}
	t.Conversation = New(d.ctx, opts)
	d.mu.Lock()
	err := d.room()
	if err == nil {
		err = d.turn(t, prompt, opened)
	}
	d.mu.Unlock()
	if err != nil {
		return "", err
	}
	select {
	case err = <-opened:
	case <-ctx.Done():
		return "", context.Cause(ctx) // it goes on
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return t.id, err
}

// room forgets the conversations whose sessions have ended, and reports whether one more
// may be open. d.mu is held.
func (d *Desk) room() error {
	for id, t := range d.talks {
		if !t.busy && t.root.Record().Status.Ended() {
			delete(d.talks, id)
			if err := t.End(); err != nil {
				d.log.Warn("a conversation has not ended in order", "session", id, "err", err)
			}
		}
	}
	if len(d.talks) >= maxTalks {
		return ErrFull
	}
	return nil
}

// turn begins a turn of a conversation, and then the turns for prompts that arrive in the meantime.
// failed, which may be nil, gets the error of a turn without a session. d.mu is held.
func (d *Desk) turn(t *talk, prompt string, failed chan<- error) error {
	if d.over {
		return errors.New("the worker is shutting down")
	}
	t.busy = true
	d.turns.Go(func() {
		for {
			answer := t.Prompt(d.ctx, prompt)
			if answer.Err != nil {
				d.log.Debug("a turn of a conversation", "err", answer.Err)
				if failed != nil {
					failed <- answer.Err // it has room
				}
			}
			failed = nil
			d.mu.Lock()
			if len(t.next) == 0 || d.over {
				t.busy = false
				d.mu.Unlock()
				return
			}
			prompt, t.next = t.next[0], t.next[1:]
			d.mu.Unlock()
		}
	})
	return nil
}
