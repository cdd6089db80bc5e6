package natsstore

import (
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/internal/embedded"
)

// target is what connections are made to.
type target struct {
	urls     string             // of external servers; empty means the embedded store
	access   Access             // to external servers
	election *embedded.Election // nil means the servers are external
	options  []nats.Option      // of every connection
	main     *connState         // of the connection that is reconnected
}

// connect makes a connection beside the main one. The caller closes it. No new connection to
// an external server is tried while the main one is lost. The server may refuse the worker,
// and the library knows how often to ask again.
func (t *target) connect(opts ...nats.Option) (*nats.Conn, error) {
	if t.urls != "" && !t.main.isUp() {
		return nil, fmt.Errorf("%w%s", errDisconnected, t.main.diagnosis())
	}
	return t.connectMain(opts...)
}

// connectMain makes the main connection.
func (t *target) connectMain(opts ...nats.Option) (*nats.Conn, error) {
	if t.urls == "" {
		// The system ends a connection within a machine when either process ends, and not
		// before. A connection to a stopped process must stay. When that process continues it
		// stores what was sent on it, and a second copy would be stored, too.
		forever := []nats.Option{nats.PingInterval(0), nats.FlusherTimeout(embedded.StoppedTimeout)}
		conn, err := nats.Connect("", slices.Concat(t.options, forever, opts, t.election.Options())...)
		return conn, explainConnect(err)
	}
	opts = slices.Concat(t.options, []nats.Option{
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxPings),
		nats.FlusherTimeout(writeTimeout), nats.ReconnectOnFlusherError(),
	}, opts)
	key := &keyDialer{file: t.access.NKey}
	access, err := t.access.options(t.urls, key)
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect(t.urls, append(opts, access...)...)
	if err != nil {
		return nil, explainConnect(err)
	}
	key.conn.Store(conn)
	return conn, nil
}
