package eventbus

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

	"github.com/agentworker/worker/internal/atomicfile"
)

// A process that has the store of a workspace open lets others of the same
// user in, through a folder that only that user can read:
//
//   - Who wants in makes a file whose name ends in askSuffix there.
//   - The host sees it, begins to listen on loopback, and writes the address
//     and the token to doorFile. Before, nothing listens on any socket.
//   - As long as it listens it has a lock, on a file of its own whose name ends
//     in hostSuffix. Who comes in by doorFile looks whether it is held: else the
//     port may be anybody's.
//   - The files are gone when their process has ended in order. What a killed
//     one left, the next host takes away.
const (
	shareName  = "share" // the folder, below that of the store
	askSuffix  = ".ask"
	hostSuffix = ".host"
	doorFile   = "server.json"

	// askPoll is how often the folder is looked at where it can't be watched, or
	// who asked could not be let in.
	askPoll = 250 * time.Millisecond
)

// doorway is what doorFile holds.
type doorway struct {
	URL   string `json:"url"`   // nats://127.0.0.1:PORT
	Token string `json:"token"` // of the NATS connection
	Host  string `json:"host"`  // the file beside it that is locked as long as its process listens there
	PID   int    `json:"pid"`   // for people
}

// share waits for others who want in, and lets them.
type share struct {
	dir    string
	srv    *server.Server
	token  string
	lock   *flock.Flock // nil: nobody has been let in
	log    *slog.Logger
	cancel context.CancelFunc
	done   chan struct{}
}

// startShare clears dir of what others have left, and begins to wait: who still
// wants in asks again. It wants close before the server stops.
func startShare(dir string, srv *server.Server, token string, log *slog.Logger) (*share, error) {
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
		log.Warn("the folder for other processes is polled", "dir", dir, "err", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &share{dir: dir, srv: srv, token: token, log: log, cancel: cancel, done: make(chan struct{})}
	go s.run(ctx, watcher)
	return s, nil
}

func (s *share) run(ctx context.Context, watcher *fsnotify.Watcher) {
	defer close(s.done)
	var events <-chan fsnotify.Event
	var failures <-chan error
	var poll <-chan time.Time
	if watcher != nil {
		defer watcher.Close()
		events, failures = watcher.Events, watcher.Errors
	} else {
		ticker := time.NewTicker(askPoll)
		defer ticker.Stop()
		poll = ticker.C
	}
	defer s.shut()
	for {
		var again <-chan time.Time
		if s.asked() && !s.isOpen() {
			if err := s.open(); err != nil {
				s.log.Error("other processes can't be let in", "err", err)
				again = time.After(askPoll)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-events:
		case <-failures: // an event may have been lost: look
		case <-poll:
		case <-again:
		}
	}
}

// asked reports whether somebody wants in.
func (s *share) asked() bool {
	entries, err := os.ReadDir(s.dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), askSuffix) })
}

// isOpen reports whether others find the way in. What cleans up old files may
// have taken it away.
func (s *share) isOpen() bool {
	if s.lock == nil {
		return false
	}
	_, lockErr := os.Stat(s.lock.Path())
	_, doorErr := os.Stat(filepath.Join(s.dir, doorFile))
	return lockErr == nil && doorErr == nil
}

// open begins to listen, unless it does, and says where.
func (s *share) open() error {
	s.shut()
	if s.srv.Addr() == nil {
		s.srv.AcceptLoop(make(chan struct{})) // listens when it returns; the server owns what accepts
	}
	addr := s.srv.Addr()
	if addr == nil {
		return errors.New("listening on loopback failed")
	}
	lock := flock.New(filepath.Join(s.dir, rand.Text()+hostSuffix), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok { // not ok: a name that is there already
		return errors.Join(fmt.Errorf("locking %s failed", lock.Path()), err, lock.Close())
	}
	s.lock = lock
	data, err := json.Marshal(doorway{
		URL: "nats://" + addr.String(), Token: s.token, Host: filepath.Base(lock.Path()), PID: os.Getpid(),
	})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(s.dir, doorFile), data, 0o600)
}

// shut takes the address back, and the lock: the port is free only after it.
func (s *share) shut() {
	if s.lock == nil {
		return
	}
	for _, path := range []string{filepath.Join(s.dir, doorFile), s.lock.Path()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("the address for other processes stays behind", "err", err)
		}
	}
	if err := s.lock.Close(); err != nil {
		s.log.Warn("giving back the lock of the address for other processes", "err", err)
	}
	s.lock = nil
}

// close ends the waiting, and takes the address back.
func (s *share) close() {
	s.cancel()
	<-s.done
}
