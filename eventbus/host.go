package eventbus

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

// host is the store of a workspace, open in this process: its lock, the server
// on it, and the door by which the user's other processes come in.
type host struct {
	lock  *lock
	srv   *server.Server
	said  *serverLog // what the server has logged
	token string     // of every connection; new in each host
	share *share
}

// openHost opens the store in dir; nil without an error: another process has it
// open.
func openHost(dir string, log *slog.Logger) (*host, error) {
	lock, err := tryLock(dir)
	if lock == nil || err != nil {
		return nil, err
	}
	h := &host{lock: lock, token: rand.Text()}
	if h.srv, h.said, err = startServer(dir, h.token, log); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the embedded event store in %s: %w", dir, err), h.close())
	}
	shareDir := filepath.Join(dir, shareName)
	if h.share, err = startShare(shareDir, h.srv, h.token, log); err != nil {
		return nil, errors.Join(fmt.Errorf("sharing the event store by %s: %w", shareDir, err), h.close())
	}
	return h, nil
}

// close stops the server, after which its store is complete on disk, and lets
// another process open it. The guests are shown out first: none of them is to
// hear anything else from a store that closes.
func (h *host) close() error {
	if h.share != nil {
		h.share.close()
	}
	if h.srv != nil {
		h.showOut()
		h.srv.Shutdown()
		h.srv.WaitForShutdown()
	}
	return h.lock.unlock()
}

// showOut ends all connections.
func (h *host) showOut() {
	guests, err := h.srv.Connz(&server.ConnzOptions{Limit: 1 << 20})
	if err != nil { // the shutdown ends them too
		return
	}
	for _, c := range guests.Conns {
		_ = h.srv.DisconnectClientByID(c.Cid) // an error: it has gone already
	}
}
