package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// leader is the store of a workspace as the process runs it that leads: its lock,
// the server, and the rendezvous by which the followers find it.
type leader struct {
	lock       *lock
	srv        *server.Server
	srvLog     *serverLog
	token      string // of every connection; each leader makes a new one
	rendezvous *rendezvous
	opened     time.Time
	dir        string
	place      os.FileInfo // of the lock's file
}

// openLeader opens the store in dir. It returns nil without an error if another
// process leads. check, if it is not nil, is called with the lock held: its error
// keeps the store closed.
func openLeader(dir string, sync Sync, check func() error, log *slog.Logger) (*leader, error) {
	lock, err := tryLock(dir)
	if lock == nil || err != nil {
		return nil, err
	}
	l := &leader{lock: lock, token: rand.Text(), opened: time.Now(), dir: dir}
	if l.place, err = os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if check != nil {
		if err := check(); err != nil {
			return nil, errors.Join(fmt.Errorf("opening the event store in %s: %w", dir, err), l.close())
		}
	}
	if err := findLosses(dir); err != nil {
		log.Warn("what the event store has lost is not known", "err", err)
	}
	if l.srv, l.srvLog, err = startServer(dir, l.token, sync, log); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the embedded event store in %s: %w", dir, err), l.close())
	}
	path := filepath.Join(dir, rendezvousDir)
	if l.rendezvous, err = openRendezvous(path, l.srv, l.token, log); err != nil {
		return nil, errors.Join(fmt.Errorf("offering the event store to other processes in %s: %w", path, err), l.close())
	}
	return l, nil
}

// close stops the server, after which its store is complete on disk, and lets
// another process lead. It ends the followers' connections first, so that none of
// them gets an error from a store that closes.
func (l *leader) close() error {
	if l.rendezvous != nil {
		l.rendezvous.close()
	}
	if l.srv != nil {
		l.disconnectAll()
		streams, err := streamsOf(l.srv)
		l.srv.Shutdown()
		l.srv.WaitForShutdown()
		if now, moved := os.Stat(filepath.Join(l.dir, lockFile)); err == nil && moved == nil && os.SameFile(l.place, now) {
			_ = writeBlocks(l.dir, streams) // an error: a full disk; then nothing is compared
		}
	}
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
