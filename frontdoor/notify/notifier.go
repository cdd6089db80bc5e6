package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/session/store"
)

const (
	fileName = "notify.json" // in the state folder: how far each target has come
	lockName = "notify.lock" // held by the process that sends

	firstPause = time.Second      // before a second try. Each pause is twice the one before
	maxPause   = 15 * time.Minute // between two tries
	maxAge     = 24 * time.Hour   // of an event with a message
	closeTime  = 5 * time.Second  // to send the rest when the process ends
)

// lockEvery is how often another process looks whether it is to send.
var lockEvery = 5 * time.Second

// Options configures a [Notifier].
type Options struct {
	Bus       *eventbus.Bus
	Sessions  *store.Store
	Targets   []Target
	Workspace string // its name, for people
	StateDir  string
	Dir       string   // where commands run
	Shell     string   // that runs them
	Env       []string // of commands
	Getenv    func(name string) string

	// Link returns an address of the page at which a named person can answer a question, once.
	// An error says why there is none.
	Link   func(ctx context.Context, person, approvalID string) (string, error)
	Logger *slog.Logger
}

// Notifier sends messages of what happens. It is made by [Start].
type Notifier struct {
	opts   Options
	client *http.Client
	work   sync.WaitGroup
	stop   context.CancelFunc // ends the following of events

	// sending ends when no message may be on its way any more. One that is cut off would be sent
	// twice.
	sending context.Context
	cut     context.CancelFunc

	lock   *flock.Flock
	locked bool // lock is held; Close reads it once run has returned

	mu     sync.Mutex
	places map[string]uint64 // by the keys of targets: the event that was handled last
}

// Start begins to send, from where an earlier process has ended; for a new target from now on.
// While another process of the machine sends for the workspace, it waits for its end. The caller
// closes the notifier. Without targets it is nil.
func Start(ctx context.Context, opts Options) (*Notifier, error) {
	if len(opts.Targets) == 0 {
		return nil, nil
	}
	newest, err := opts.Bus.Newest(ctx)
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	sending, cut := context.WithCancel(context.WithoutCancel(ctx))
	following, stop := context.WithCancel(sending)
	n := &Notifier{
		opts: opts, sending: sending, cut: cut, stop: stop,
		lock: flock.New(filepath.Join(opts.StateDir, lockName), flock.SetPermissions(0o600)),
		client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	n.work.Go(func() { n.run(following, newest) })
	return n, nil
}

// Close sends what is left, for five seconds at most, and ends. The rest is sent by the next
// process.
func (n *Notifier) Close() error {
	if n == nil {
		return nil
	}
	late := time.AfterFunc(closeTime, n.cut)
	defer n.cut()
	defer late.Stop()
	n.stop()
	n.work.Wait()
	if !n.locked {
		return n.lock.Close()
	}
	newest, err := n.opts.Bus.Newest(n.sending)
	if err == nil {
		n.each(func(t *Target) {
			for ev, err := range n.opts.Bus.Between(n.sending, n.place(t)+1, newest) {
				if err != nil || !n.handle(n.sending, t, ev) {
					return
				}
			}
		})
	}
	return errors.Join(n.note(), n.lock.Close())
}

// run waits until this process is the one that sends, and sends until ctx ends.
func (n *Notifier) run(ctx context.Context, newest uint64) {
	look := time.NewTicker(lockEvery)
	defer look.Stop()
	for {
		ok, err := n.lock.TryLock()
		if err != nil {
			n.opts.Logger.Warn("notify: no messages are sent", "err", err)
			return
		}
		if ok {
			break
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
	n.locked = true
	if err := n.load(n.sending, newest); err != nil {
		n.opts.Logger.Warn("notify: reading how far earlier workers have come", "err", err)
	}
	if err := n.note(); err != nil {
		n.opts.Logger.Warn("notify: a message may be lost or sent twice", "err", err)
	}
	n.each(func(t *Target) { n.follow(ctx, t) })
}

// each calls do for all targets side by side, and returns when all have ended.
func (n *Notifier) each(do func(t *Target)) {
	var all sync.WaitGroup
	for i := range n.opts.Targets {
		all.Go(func() { do(&n.opts.Targets[i]) })
	}
	all.Wait()
}

// follow handles the events of the workspace for a target, until ctx ends.
func (n *Notifier) follow(ctx context.Context, t *Target) {
	for tries := 0; ctx.Err() == nil; tries++ {
		for ev, err := range n.opts.Bus.FollowAll(ctx, n.place(t)+1) {
			if err != nil {
				if ctx.Err() == nil {
					n.opts.Logger.Warn("notify: following the events", "err", err)
				}
				break
			}
			if !n.handle(ctx, t, ev) {
				break
			}
			tries = 0
		}
		wait(ctx, pause(tries))
	}
}

// handle sends the message of an event, if the target wants one. false: it was not sent.
func (n *Notifier) handle(ctx context.Context, t *Target, ev eventbus.Placed) bool {
	link, failure := "", error(nil)
	for tries := 0; ; tries++ {
		var m *Message
		var err error
		late := time.Since(ev.Time) > maxAge
		if !late {
			m, err = n.message(ctx, ev, t.On)
		}
		if err == nil && m == nil {
			if late && failure != nil {
				n.opts.Logger.Warn("notify: a message was given up", "to", t.String(), "err", failure)
			}
			n.reached(t, ev.Seq)
			return true
		}
		if err == nil {
			if link == "" {
				link = n.link(n.sending, t, m)
			}
			m.Link = link
			err = n.send(n.sending, t, m)
		}
		failure = err
		var final finalError
		if err == nil || errors.As(err, &final) {
			if err != nil {
				n.opts.Logger.Warn("notify: a message was refused", "to", t.String(), "about", m.Kind, "session", m.SessionID, "err", err)
			}
			n.reached(t, ev.Seq)
			if err := n.note(); err != nil {
				n.opts.Logger.Warn("notify: a message may be sent twice", "err", err)
			}
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		next := pause(tries)
		if later := (laterError{}); errors.As(err, &later) {
			next = max(next, min(later.after, maxPause))
		}
		n.opts.Logger.Warn("notify: a message was not sent, and will be", "to", t.String(), "in", next.Round(time.Second), "err", err)
		if !wait(ctx, next) {
			return false
		}
	}
}

// link returns the address at which a question can be answered; empty means there is none.
func (n *Notifier) link(ctx context.Context, t *Target, m *Message) string {
	if t.Person == "" || m.ApprovalID == "" {
		return ""
	}
	link, err := n.opts.Link(ctx, t.Person, m.ApprovalID)
	if err == nil && t.Page != "" {
		link, err = moved(link, t.Page)
	}
	if err != nil {
		n.opts.Logger.Warn("notify: a question has no link", "to", t.String(), "person", t.Person, "err", err)
		return ""
	}
	return link
}

// pause returns how long to wait before another try, with jitter.
func pause(tries int) time.Duration {
	d := maxPause
	if tries < 10 {
		d = min(d, firstPause<<tries)
	}
	return d/2 + rand.N(d/2)
}

// wait waits. false: ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// place returns the event that a target has handled last.
func (n *Notifier) place(t *Target) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.places[t.key()]
}

func (n *Notifier) reached(t *Target, seq uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.places[t.key()] = seq
}

// load reads how far the targets have come. A new target begins after the event since, and so does
// one whose place is of another store.
func (n *Notifier) load(ctx context.Context, since uint64) error {
	var noted map[string]uint64
	data, err := os.ReadFile(filepath.Join(n.opts.StateDir, fileName))
	if err == nil {
		err = json.Unmarshal(data, &noted)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	newest, notKnown := n.opts.Bus.Newest(ctx)
	n.places = map[string]uint64{}
	for i := range n.opts.Targets {
		key := n.opts.Targets[i].key()
		seq, ok := noted[key]
		if !ok || notKnown == nil && seq > newest {
			seq = since
		}
		n.places[key] = seq
	}
	return errors.Join(err, notKnown)
}

// note writes down how far the targets have come.
func (n *Notifier) note() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	data, err := json.Marshal(n.places)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(n.opts.StateDir, fileName), data, 0o600)
}
