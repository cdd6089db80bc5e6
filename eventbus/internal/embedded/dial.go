package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
)

// ErrNoLeader is returned if another process has the store open but can't be
// reached.
var ErrNoLeader = errors.New("no process answers")

// ErrMoved is returned by every operation after the folder of the embedded store
// was removed, or replaced by another one.
var ErrMoved = errors.New("the event store is gone")

// leaderDialer dials the store of one folder for one connection, no matter which process runs
// the store.
type leaderDialer struct {
	dir    string
	leader *atomic.Pointer[leader] // of this process
	token  string                  // of the server that was dialled last
}

// Dial implements [nats.CustomDialer]. It ignores the address.
func (d *leaderDialer) Dial(_, _ string) (net.Conn, error) {
	if l := d.leader.Load(); l != nil {
		d.token = l.token
		return l.srv.InProcessConn()
	}
	path := filepath.Join(d.dir, rendezvousDir, addressFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoLeader
	}
	if err != nil {
		return nil, err
	}
	var at address
	if err := json.Unmarshal(data, &at); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d.token = at.Token
	return at.dial(filepath.Dir(path))
}

// dial connects to the leader at this address, and to nothing else: the port of a killed
// process may be another program's by now. The port is the leader's own if the leader still
// holds its lock once the connection exists, since it listens while it holds it.
func (a address) dial(dir string) (net.Conn, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s is not on this machine", a.URL)
	}
	conn, err := net.DialTimeout("tcp", u.Host, dialTimeout)
	if err != nil {
		return nil, err
	}
	if held, err := lockHeld(dir, a.Lock); err != nil || !held {
		return nil, errors.Join(fmt.Errorf("the process that listened at %s has exited", a.URL), err, conn.Close())
	}
	return conn, nil
}
