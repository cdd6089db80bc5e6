package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus/internal/storefiles"
)

// leader is the store of a workspace as the process runs it that leads: its lock,
// the server, and the rendezvous by which the followers find it.
type leader struct {
	lock       *lock
	srv        *server.Server
	srvLog     *serverLog
	token      string // of every connection; each leader makes a new one
	rendezvous *rendezvous
	files      *storefiles.Monitor // nil means what the store has is not written down
	opened     time.Time
	memory     *heldMemory
}

// openLeader opens the store in dir. It returns nil without an error if another
// process leads. With all it checks files that have not changed, too. check, if it is
// not nil, is called with the lock held: its error keeps the store closed.
func openLeader(dir string, sync Sync, all bool, check func() error, log *slog.Logger) (*leader, error) {
	lock, err := tryLock(dir)
	if lock == nil || err != nil {
		return nil, err
	}
	l := &leader{lock: lock, token: rand.Text(), opened: time.Now()}
	if check != nil {
		if err := check(); err != nil {
			return nil, errors.Join(fmt.Errorf("opening the event store in %s: %w", dir, err), l.close())
		}
	}
	if err := storefiles.Check(dir, all, log); err != nil {
		err = fmt.Errorf("%w: nothing was deleted. Make the file readable, restore the folder from a copy, or begin another one with --state-dir", err)
		return nil, errors.Join(fmt.Errorf("opening the event store in %s: %w", dir, err), l.close())
	}
	l.memory = holdMemory(dir)
	if l.srv, l.srvLog, err = startServer(dir, l.token, sync, log); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the embedded event store in %s: %w", dir, err), l.close())
	}
	if l.files, err = storefiles.StartMonitor(dir, l, l.srvLog.damaged, log); err != nil {
		log.Warn("what the event store has is not written down: what it may lose is not noticed", "err", err)
	}
	path := filepath.Join(dir, rendezvousDir)
	if l.rendezvous, err = openRendezvous(path, l.srv, l.token, log); err != nil {
		return nil, errors.Join(fmt.Errorf("offering the event store to other processes in %s: %w", path, err), l.close())
	}
	return l, nil
}

// ErrStuck is returned where the server of this process can't be stopped. The end of the
// process lets another one lead.
var ErrStuck = errors.New("the server of the event store has come to a standstill, so that its process has to end")

// close is shut, and waits while that may take. nats-server 2.15 waits for itself where a
// purge meets a full disk. Such a server is left with the goroutine that stops it, because
// this process can do nothing else about it.
func (l *leader) close() error { return within(closeTimeout, l.shut) }

// within returns what shut returns, or [ErrStuck] if it does not return in time.
func within(limit time.Duration, shut func() error) error {
	done := make(chan error, 1)
	go func() { done <- shut() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return ErrStuck
	}
}

// shut stops the server, after which its store is complete on disk, and lets
// another process lead. It ends the followers' connections first, so that none of
// them gets an error from a store that closes.
func (l *leader) shut() error {
	if l.rendezvous != nil {
		l.rendezvous.close()
	}
	if l.srv != nil {
		l.disconnectAll()
		var streams map[string]storefiles.Range
		if l.files != nil {
			l.files.Stop()
			streams, _ = l.Streams() // without them the store does not count as closed
		}
		l.srv.Shutdown()
		l.srv.WaitForShutdown()
		if l.files != nil {
			_ = l.files.Close(streams) // an error: a full disk; the next process reads all files
		}
	}
	l.memory.release()
	return l.lock.unlock()
}

func (l *leader) disconnectAll() {
	clients, err := l.srv.Connz(&server.ConnzOptions{Limit: 1 << 20})
	if err != nil { // the shutdown ends them too
		return
	}
	for _, c := range clients.Conns {
		_ = l.srv.DisconnectClientByID(c.Cid) // an error: it has already gone
	}
}

// Streams returns the streams that the server has. A server that does not say so has
// failed.
func (l *leader) Streams() (map[string]storefiles.Range, error) {
	defer time.AfterFunc(stuckTimeout, func() { l.srvLog.fail("the server has not answered for " + stuckTimeout.String()) }).Stop()
	state, err := l.srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return nil, err
	}
	streams := make(map[string]storefiles.Range)
	for _, account := range state.AccountDetails {
		for _, s := range account.Streams {
			streams[s.Name] = storefiles.Range{First: s.State.FirstSeq, Last: s.State.LastSeq}
		}
	}
	return streams, nil
}
