package eventbus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// seatRetry is how often a process without a store looks whether it may
	// open it itself, or is let in.
	seatRetry = 10 * time.Millisecond

	// seatWait is how long Open waits for the process that has the store.
	seatWait = 5 * time.Second

	// troubleWait is the pause after the store could not be opened.
	troubleWait = 250 * time.Millisecond

	// enterWait bounds the way into another process's store.
	enterWait = time.Second
)

// ErrNoHost is returned where another process has the store open, and lets
// nobody in.
var ErrNoHost = errors.New("no process answers")

// seat is a process's place at a store that the processes of a workspace share:
// one has it open, the others are let in by that one. When it ends, whoever is
// first of the others opens the store, and the rest go there.
//
// Dialling looks up where the store is at that moment; find sees to it that it
// is somewhere.
type seat struct {
	dir     string
	log     *slog.Logger
	host    atomic.Pointer[host]  // nil: the store is open in another process, or in none
	trouble atomic.Pointer[error] // why this process could not open it the last time
	asking  string                // the file by which it asks to be let in
}

// newSeat makes the folders. It wants close.
func newSeat(dir string, log *slog.Logger) (*seat, error) {
	shareDir := filepath.Join(dir, shareName)
	if err := os.MkdirAll(shareDir, 0o700); err != nil {
		return nil, err
	}
	return &seat{dir: dir, log: log, asking: filepath.Join(shareDir, rand.Text()+askSuffix)}, nil
}

// find opens the store if no other process has it open, else asks that one to
// let this one in, until there reports that the store has been reached or ctx
// ends. Only one find may run at a time.
func (s *seat) find(ctx context.Context, there func() bool) {
	defer os.Remove(s.asking) // it is in, or has given up
	for !there() {
		pause := seatRetry
		opened, err := s.step()
		switch {
		case opened:
			continue
		case err != nil:
			s.log.Warn("the event store can't be opened; it is tried again", "err", err)
			pause = troubleWait
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// step tries once to open the store, and reports whether it has done so, or to
// ask whoever has it open.
func (s *seat) step() (opened bool, err error) {
	if h := s.host.Load(); h != nil {
		if h.srv.Running() {
			return false, nil // ours already: the connection alone was lost
		}
		s.host.Store(nil)
		if err := h.close(); err != nil {
			return false, err
		}
	}
	h, err := openHost(s.dir, s.log)
	if err != nil {
		s.trouble.Store(&err)
		return false, err
	}
	s.trouble.Store(nil)
	if h != nil {
		s.host.Store(h)
		return true, nil
	}
	// A new host takes away what it finds there: ask again.
	ask, err := os.OpenFile(s.asking, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false, fmt.Errorf("asking %s for the event store: %w", holder(s.dir), err)
	}
	return false, ask.Close()
}

// why says why there is no store.
func (s *seat) why() error {
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return fmt.Errorf("%s has the event store in %s open, and lets nobody in: %w", holder(s.dir), s.dir, ErrNoHost)
}

// close closes the store, if it is open in this process.
func (s *seat) close() error {
	if h := s.host.Swap(nil); h != nil {
		return h.close()
	}
	return nil
}

// options are those of a connection to the store, wherever it is when it dials.
func (s *seat) options() []nats.Option {
	d := &door{seat: s}
	return []nats.Option{
		nats.SetCustomDialer(d), nats.TokenHandler(func() string { return d.token }), nats.SkipHostLookup(),
		nats.IgnoreDiscoveredServers(), nats.IgnoreAuthErrorAbort(), nats.Timeout(enterWait),
	}
}

// door is the way of one connection to the store.
type door struct {
	seat  *seat
	token string // of the server that was dialled last
}

// Dial implements [nats.CustomDialer]; the address does not count.
func (d *door) Dial(_, _ string) (net.Conn, error) {
	if h := d.seat.host.Load(); h != nil {
		d.token = h.token
		return h.srv.InProcessConn()
	}
	path := filepath.Join(d.seat.dir, shareName, doorFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoHost
	}
	if err != nil {
		return nil, err
	}
	var at doorway
	if err := json.Unmarshal(data, &at); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.token = at.Token
	return at.enter(filepath.Dir(path))
}

// enter connects to the host that at leads to, and to no other: the port of a
// process that was killed may be anybody's by now. It is the host's own where
// the host is there still once the connection is: it listens as long as it has
// its lock.
func (at doorway) enter(shareDir string) (net.Conn, error) {
	u, err := url.Parse(at.URL)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s is not on this machine", at.URL)
	}
	conn, err := net.DialTimeout("tcp", u.Host, enterWait)
	if err != nil {
		return nil, err
	}
	if there, err := held(shareDir, at.Host); err != nil || !there {
		return nil, errors.Join(fmt.Errorf("the process that let others in at %s has gone", at.URL), err, conn.Close())
	}
	return conn, nil
}
