package embedded

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus/internal/oncelog"
	"github.com/agentworker/worker/internal/atomicfile"
)

// The leader and the followers of a store meet in a folder that only their user
// can read:
//
//   - A follower requests the leader's address by a file whose name ends in
//     requestSuffix.
//   - The leader sees it, starts to listen on loopback, and writes the address
//     and the token to addressFile. Until then it listens on no socket.
//   - While it listens it holds a lock, on a file of its own whose name ends in
//     listenSuffix. A follower checks that the lock is held before it sends
//     anything: otherwise the port may be another program's by now.
//   - A process removes its files when it ends in order. The next leader removes
//     what a killed one left.
const (
	requestSuffix = ".request"
	listenSuffix  = ".listen"
	addressFile   = "address.json"
)

// address is the content of addressFile.
type address struct {
	URL   string `json:"url"`   // nats://127.0.0.1:PORT
	Token string `json:"token"` // of the NATS connection
	Lock  string `json:"lock"`  // the file beside it that is locked while the leader listens
	PID   int    `json:"pid"`   // for people
}

// rendezvous answers the requests of store followers for the leader's address.
type rendezvous struct {
	dir    string
	srv    *server.Server
	token  string
	lock   *flock.Flock // nil means no follower has requested the address
	log    *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}
}

// openRendezvous removes from dir what others have left, and waits for requests:
// a follower that still waits makes another one. Close it before the server
// stops.
func openRendezvous(dir string, srv *server.Server, token string, log *slog.Logger) (*rendezvous, error) {
	left, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range left {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(dir); err != nil {
			err = errors.Join(err, watcher.Close())
			watcher = nil
		}
	}
	if err != nil {
		log.Warn("polling the folder in which other processes request the event store", "dir", dir, "err", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &rendezvous{dir: dir, srv: srv, token: token, log: log, cancel: cancel, done: make(chan struct{})}
	go r.run(ctx, watcher)
	return r, nil
}

func (r *rendezvous) run(ctx context.Context, watcher *fsnotify.Watcher) {
	defer close(r.done)
	var events <-chan fsnotify.Event
	var failures <-chan error
	var poll <-chan time.Time
	if watcher != nil {
		defer watcher.Close()
		events, failures = watcher.Events, watcher.Errors
	} else {
		ticker := time.NewTicker(requestInterval)
		defer ticker.Stop()
		poll = ticker.C
	}
	defer r.withdraw()
	reports := oncelog.New(r.log)
	var retry <-chan time.Time // nil means publishing has not failed just now
	for {
		// What has failed has changed files here, too: that is no reason to try again.
		if retry == nil && r.requested() && !r.published() {
			if err := r.publish(); err != nil {
				reports.Report(slog.LevelError, "other processes can't connect to the event store", fmt.Errorf("%s: %w", r.dir, cause(err)))
				retry = time.After(requestInterval)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-events:
		case <-failures: // an event may have been lost
		case <-poll:
		case <-retry:
			retry = nil
		}
	}
}

// requested reports whether a follower requests the address.
func (r *rendezvous) requested() bool {
	entries, err := os.ReadDir(r.dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), requestSuffix) })
}

// published reports whether followers find the address. A program that cleans up
// old files may have removed it.
func (r *rendezvous) published() bool {
	if r.lock == nil {
		return false
	}
	_, lockErr := os.Stat(r.lock.Path())
	_, addressErr := os.Stat(filepath.Join(r.dir, addressFile))
	return lockErr == nil && addressErr == nil
}

// publish starts to listen, unless the server already does, and writes the
// address.
func (r *rendezvous) publish() error {
	r.withdraw()
	if r.srv.Addr() == nil {
		r.srv.AcceptLoop(make(chan struct{})) // listens when it returns; the server owns the goroutine that accepts
	}
	addr := r.srv.Addr()
	if addr == nil {
		return errors.New("listening on loopback failed")
	}
	lock := flock.New(filepath.Join(r.dir, rand.Text()+listenSuffix), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok { // not ok: the name is taken
		return errors.Join(fmt.Errorf("locking %s failed", lock.Path()), err, lock.Close())
	}
	r.lock = lock
	data, err := json.Marshal(address{
		URL: "nats://" + addr.String(), Token: r.token, Lock: filepath.Base(lock.Path()), PID: os.Getpid(),
	})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(r.dir, addressFile), data, 0o600)
}

// withdraw removes the address, and then the lock: the port is free only after
// it.
func (r *rendezvous) withdraw() {
	if r.lock == nil {
		return
	}
	paths := []string{filepath.Join(r.dir, addressFile), r.lock.Path()}
	if _, err := os.Stat(r.lock.Path()); err != nil {
		paths = nil // the address in another folder in the place of this one is not ours
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.log.Warn("removing the address of the event store", "err", err)
		}
	}
	if err := r.lock.Close(); err != nil {
		r.log.Warn("releasing the lock of the event store's address", "err", err)
	}
	r.lock = nil
}

// close stops answering, and removes the address.
func (r *rendezvous) close() {
	r.cancel()
	<-r.done
}
