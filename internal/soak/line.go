package main

import (
	"net"
	"sync"
)

// line is a TCP proxy that can be cut: then it takes bytes and connections, and
// forwards nothing any more, without a word to either side.
type line struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func newLine(to string) (*line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{listener: listener, to: to}
	l.running.Go(l.accept)
	return l, nil
}

func (l *line) url() string { return "nats://" + l.listener.Addr().String() }

func (l *line) close() {
	l.listener.Close()
	l.set(true)
	l.set(false) // closes the connections
	l.running.Wait()
}

func (l *line) accept() {
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
		l.running.Go(func() { l.forward(near, far) })
		l.running.Go(func() { l.forward(far, near) })
	}
}

func (l *line) forward(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if l.isCut() {
			if err != nil {
				return // the end of either side is not told to the other
			}
			continue // dropped
		}
		if err == nil {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

func (l *line) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// set cuts the line, or joins it for new connections: those that were there while
// it was cut have lost bytes.
func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if !cut {
		for _, c := range l.conns {
			c.Close()
		}
		l.conns = nil
	}
}
