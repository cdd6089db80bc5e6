package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/internal/oncelog"
	"github.com/agentworker/worker/eventbus/internal/storefiles"
)

// Election is a process's part in deciding which of the processes of a workspace runs their
// store. One leads, and the others connect to it. When it ends, the first of the others to get
// the lock leads, and the rest connect to that one. A leader whose server has failed, as on a
// full disk, closes it and takes part again like the others. Each finds out by itself whether
// the disk has room.
//
// A process that is about to be stopped hands the store over before ([Election.Suspend]).
//
// Dialling looks up where the store is at that moment; campaign sees to it that it is
// somewhere. A nil Election stands for an external store: nobody leads, and nothing is known
// to be wrong.
type Election struct {
	dir     string
	sync    Sync // where this process leads
	all     bool // it reads all files of the store when it opens it
	log     *slog.Logger
	leader  atomic.Pointer[leader]      // nil means another process leads, or none
	failure atomic.Pointer[error]       // why this process could not lead the last time
	request string                      // the file by which it requests the leader's address
	place   atomic.Pointer[os.FileInfo] // of the lock's file; nil means the store was not open yet
	looked  atomic.Pointer[look]        // whether the process that leads was stopped
	stopped atomic.Pointer[time.Time]   // when it was last found to be, or this one was suspended; nil means never

	suspend   chan chan<- error // requests of Suspend, with where the answer goes
	suspended atomic.Bool       // this process does not lead until Resume

	// For the goroutine that campaigns.
	reports   *oncelog.Logger
	failures  int       // in a row
	notBefore time.Time // this process does not try to lead
	stuck     bool      // the server could not be stopped, and has the lock

	room room
}

// Open takes part in the election for the store in dir, and leads if no other process does. It
// makes the folders that are missing. With all it checks every file of the store, even
// unchanged ones. The caller resigns.
func Open(dir string, sync Sync, all bool, log *slog.Logger) (*Election, error) {
	path := filepath.Join(dir, rendezvousDir)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("opening the event store in %s: %w", dir, err)
	}
	e := &Election{
		dir: dir, sync: sync, all: all, log: log, reports: oncelog.New(log), request: filepath.Join(path, rand.Text()+requestSuffix), suspend: make(chan chan<- error),
	}
	if _, err := e.step(); err != nil {
		return nil, err
	}
	return e, nil
}

// Join calls connect until it succeeds, while this process tries to lead or
// requests the leader's address. An [ErrNoLeader] reports that no process has
// answered for some seconds. Call it once, before Run.
func (e *Election) Join(ctx context.Context, connect func() error) error {
	waiting, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	joined := false
	err := e.campaign(waiting, func() bool {
		joined = connect() == nil
		return joined
	})
	switch {
	case err != nil:
		return err
	case !joined && ctx.Err() != nil:
		return context.Cause(ctx)
	case !joined:
		return e.unreached()
	}
	return e.settle()
}

// Run takes part until ctx ends. It returns an [ErrMoved] if the store's folder was removed.
// lost has a value when the connection to the store was lost, and connected reports whether it
// is up.
func (e *Election) Run(ctx context.Context, lost <-chan struct{}, connected func() bool) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-lost:
			err = e.campaign(ctx, connected)
		case <-e.broken():
			err = e.retire() // the connection is lost with it
		case done := <-e.suspend:
			e.handOver(done)
		case <-ticker.C:
			err = e.watch()
		}
		switch {
		case errors.Is(err, ErrMoved), errors.Is(err, ErrStuck):
			return err
		case err != nil:
			e.log.Warn("closing the event store failed", "err", err)
		}
	}
}

// Leads reports whether this process runs the store at the moment.
func (e *Election) Leads() bool { return e != nil && e.leader.Load() != nil }

// campaign tries to lead, and requests the leader's address while another process leads. It
// ends when reached reports true, ctx ends, or the folder was removed. Only one campaign may
// run at a time.
func (e *Election) campaign(ctx context.Context, reached func() bool) error {
	defer os.Remove(e.request)
	for !reached() {
		if err := e.Moved(); err != nil {
			return err
		}
		elected, err := e.step()
		switch {
		case elected:
			continue
		case errors.Is(err, ErrStuck):
			return err
		case err != nil:
			e.reports.Report(slog.LevelError, "opening the event store failed; trying again", err)
		case e.place.Load() != nil:
			e.tellStopped()
		}
		select {
		case <-ctx.Done():
			return nil
		case done := <-e.suspend:
			e.handOver(done)
		case <-time.After(electionInterval):
		}
	}
	e.failure.Store(nil)
	return nil
}

// step tries once to lead, and reports whether this process has just become the
// leader. Otherwise it requests the leader's address.
func (e *Election) step() (elected bool, err error) {
	if e.stuck {
		return false, ErrStuck
	}
	if l := e.leader.Load(); l != nil {
		if l.srv.Running() && l.srvLog.failure() == nil {
			return false, nil // this process leads: only the connection was lost
		}
		if err := e.retire(); err != nil {
			return false, err
		}
	}
	if !time.Now().Before(e.notBefore) && !e.suspended.Load() {
		var check func() error // a process that has just started may be here to make room
		if e.place.Load() != nil {
			check = func() error { return cmp.Or(e.Moved(), checkRoom(e.dir)) }
		}
		l, err := openLeader(e.dir, e.sync, e.all, check, e.log)
		if err != nil {
			e.failed(err)
			return false, err
		}
		e.failure.Store(nil)
		if l != nil {
			e.leader.Store(l)
			if e.place.Load() != nil {
				e.tellLosses()
			}
			return true, nil
		}
	}
	// Repeat the request each time: a new leader removes all earlier ones.
	request, err := os.OpenFile(e.request, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, fmt.Errorf("requesting the event store from %s: %w", lockHolder(e.dir), err)
	}
	return false, request.Close()
}

// retire closes the store of this process, which has failed.
func (e *Election) retire() error {
	l := e.leader.Swap(nil)
	if l == nil {
		return nil
	}
	if time.Since(l.opened) >= steadyTime {
		e.failures = 0
	}
	if err := l.srvLog.failure(); err != nil {
		e.failed(fmt.Errorf("the event store in %s has failed, and is opened anew: %w", e.dir, err))
	}
	err := l.close()
	e.stuck = errors.Is(err, ErrStuck)
	return err
}

// failed remembers why this process can't lead, and for how long it does not try.
func (e *Election) failed(err error) {
	e.failure.Store(&err)
	e.notBefore = time.Now().Add(min(openPause<<min(e.failures, 10), maxOpenPause))
	e.failures++
}

// broken returns a channel that is closed when the server of this process has
// failed; nil means this process does not lead.
func (e *Election) broken() <-chan struct{} {
	if l := e.leader.Load(); l != nil {
		return l.srvLog.failed
	}
	return nil
}

// Resign ends this process's part: if it leads, it closes the store, which is then
// complete on disk, and another process that uses it leads. Run must have returned.
func (e *Election) Resign() error {
	if l := e.leader.Swap(nil); l != nil {
		return l.close()
	}
	return nil
}

// tellLosses logs what is known to be missing in the store.
func (e *Election) tellLosses() {
	losses, err := storefiles.Losses(e.dir)
	if err != nil {
		e.log.Error("event store", "err", err)
	}
	for _, l := range losses {
		e.log.Error("the event store is damaged: "+l.String(), "advice", "'worker doctor' says what to do", "told until you remove", filepath.Join(e.dir, storefiles.LossesFile))
	}
}

// settle remembers the folder in which the store was found, and tells what is
// missing there.
func (e *Election) settle() error {
	e.tellLosses()
	info, err := os.Stat(filepath.Join(e.dir, lockFile))
	if err == nil {
		e.place.Store(&info)
	}
	return err
}

// Moved returns an error that is an [ErrMoved] if the folder of the store was removed or
// replaced.
func (e *Election) Moved() error {
	if e == nil {
		return nil
	}
	place := e.place.Load()
	if place == nil {
		return nil
	}
	now, err := os.Stat(filepath.Join(e.dir, lockFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was removed while it was open", ErrMoved, e.dir)
	case err != nil: // a disk that does not answer is no other folder
		return nil
	case !os.SameFile(*place, now):
		return fmt.Errorf("%w: another folder was put in the place of %s while it was open", ErrMoved, e.dir)
	}
	return nil
}

// watch looks after the store while it is open. It logs that the leader is stopped, and
// returns an [ErrMoved] if the folder was removed.
func (e *Election) watch() error {
	e.tellStopped()
	return e.Moved()
}

// err returns why this process has no store.
func (e *Election) err() error {
	if err := e.failure.Load(); err != nil {
		return *err
	}
	h := lockHolder(e.dir)
	if h.stopped {
		return fmt.Errorf("%s has the event store in %s open and is stopped: %s: %w", h, e.dir, h.advice(), ErrNoLeader)
	}
	return fmt.Errorf("%s has the event store in %s open, but has not answered in time, as on a very busy machine: %w", h, e.dir, ErrNoLeader)
}

// unreached is err where no process has answered a request for its address. On a full
// disk none can: the address is a file.
func (e *Election) unreached() error {
	err := e.err()
	if room := checkRoom(e.dir); room != nil && errors.Is(err, ErrNoLeader) && !e.Stopped() {
		return fmt.Errorf("%s has the event store in %s open, and can't say where it listens: %w: %w", lockHolder(e.dir), e.dir, room, ErrNoLeader)
	}
	return err
}

// Options returns the options of a connection to the store. Each time the connection dials, it
// looks up where the store is.
func (e *Election) Options() []nats.Option {
	d := &leaderDialer{dir: e.dir, leader: &e.leader}
	return []nats.Option{
		nats.SetCustomDialer(d), nats.TokenHandler(func() string { return d.token }), nats.SkipHostLookup(),
		nats.IgnoreDiscoveredServers(), nats.IgnoreAuthErrorAbort(), nats.Timeout(dialTimeout),
		nats.ReconnectWait(electionInterval), nats.ReconnectJitter(0, 0),
	}
}

// look is what was seen of the process that leads.
type look struct {
	at      time.Time
	stopped bool
}

// Stopped reports whether another process leads, and is stopped. It looks again
// after a stoppedInterval.
func (e *Election) Stopped() bool {
	if e == nil || e.leader.Load() != nil || e.failure.Load() != nil {
		return false
	}
	now := time.Now()
	if last := e.looked.Load(); last != nil && now.Sub(last.at) < stoppedInterval {
		return last.stopped
	}
	look := &look{now, lockHolder(e.dir).stopped}
	e.looked.Store(look)
	if look.stopped {
		e.stopped.Store(&now)
	}
	return look.stopped
}

func (e *Election) tellStopped() {
	if e.Stopped() {
		e.reports.Report(slog.LevelError, "waiting for the event store", e.err())
	}
}

// handOver does what Suspend asks for, in the goroutine that campaigns.
func (e *Election) handOver(done chan<- error) {
	e.suspended.Store(true)
	done <- e.retire()
}
