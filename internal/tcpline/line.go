// Package tcpline is a TCP proxy that can be cut, for tests and for bench/soak.
package tcpline

import (
	"net"
	"sync"
)

// Line forwards connections to an address. While it is cut it takes connections and
// bytes and forwards nothing, without a word to either side. It is safe for
// concurrent use.
type Line struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu      sync.Mutex
	cut     bool
	dropped func([]byte)
	passes  func([]byte)
	conns   []net.Conn
}

// Listen returns a line to an address, "host:port". The caller closes it.
func Listen(to string) (*Line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Line{listener: listener, to: to}
	l.running.Go(l.accept)
	return l, nil
}

// Addr is where the line takes connections, "host:port".
func (l *Line) Addr() string { return l.listener.Addr().String() }

// Cut cuts the line. dropped is called with what clients send from then on, one call
// at a time; it does not call the line. nil means nothing is called.
func (l *Line) Cut(dropped func(sent []byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.dropped = true, dropped
}

// Watch calls passes with what clients send, before it is forwarded. The rest of that
// connection waits meanwhile. It may be called for several connections at once. nil means
// nothing is called.
func (l *Line) Watch(passes func(sent []byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passes = passes
}

// Join ends a cut: new connections get through. Join closes the connections that were
// open during the cut, because they have lost bytes.
func (l *Line) Join() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.dropped = false, nil
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

// Close closes the line and its connections.
func (l *Line) Close() error {
	err := l.listener.Close()
	l.Join()
	l.running.Wait()
	return err
}

func (l *Line) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil {
			near.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, near, far)
		l.mu.Unlock()
		l.running.Go(func() { l.forward(far, near, true) })
		l.running.Go(func() { l.forward(near, far, false) })
	}
}

// forward copies one direction of a connection.
func (l *Line) forward(to, from net.Conn, client bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if l.drops(buf[:n], client) {
			if err != nil {
				return // the end of either side is not told to the other
			}
			continue
		}
		if err == nil {
			l.watched(buf[:n], client)
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

// drops reports whether the line is cut, and tells of what a client has sent.
func (l *Line) drops(sent []byte, client bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut && client && len(sent) > 0 && l.dropped != nil {
		l.dropped(sent)
	}
	return l.cut
}

// watched calls what [Line.Watch] was given.
func (l *Line) watched(sent []byte, client bool) {
	l.mu.Lock()
	passes := l.passes
	l.mu.Unlock()
	if client && passes != nil {
		passes(sent)
	}
}
