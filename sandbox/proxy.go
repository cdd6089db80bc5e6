package sandbox

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// proxy lets commands reach hosts: it listens inside of the sandbox, on
// loopback, and dials outside. It speaks HTTP (CONNECT and absolute requests)
// and SOCKS5 on one port.
type proxy struct {
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	dialer   Dialer
}

// serveProxy starts a proxy. dial, if it is not nil, is told names as they are.
func serveProxy(l net.Listener, allow NetworkFunc, dial dialFunc) *proxy {
	p := &proxy{listener: l, dialer: Dialer{Allow: allow, dial: dial}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Go(p.accept)
	return p
}

// maxConnections bounds the connections of a session's proxy at one time.
const maxConnections = 256

func (p *proxy) accept() {
	places := make(chan struct{}, maxConnections)
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		select {
		case places <- struct{}{}:
		case <-p.ctx.Done():
			conn.Close()
			return
		}
		p.wg.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			defer p.closeAtEnd(conn)()
			p.serve(conn)
		})
	}
}

func (p *proxy) close() {
	p.cancel()
	p.listener.Close()
	p.wg.Wait()
}

// headTime is how long a command may take to say where it wants to go.
const headTime = 30 * time.Second

func (p *proxy) serve(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(headTime))
	head := &io.LimitedReader{R: conn, N: maxHead}
	r := bufio.NewReader(head)
	first, err := r.Peek(1)
	if err != nil {
		return
	}
	if first[0] == 5 {
		head.N = math.MaxInt64
		p.socks(conn, r)
		return
	}
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	head.N = math.MaxInt64
	p.http(conn, r, req)
}

// maxHead bounds the head of a request in bytes.
const maxHead = 64 << 10

func (p *proxy) http(conn net.Conn, r *bufio.Reader, req *http.Request) {
	_ = conn.SetReadDeadline(time.Time{})
	fail := func(status int, err error) {
		fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n%v\n", status, http.StatusText(status), err)
	}
	target := req.Host
	if req.Method != http.MethodConnect {
		if req.URL.Scheme != "http" || req.URL.Host == "" {
			fail(http.StatusBadRequest, errors.New("this is a proxy: ask for an absolute http URL, or CONNECT"))
			return
		}
		if target = req.URL.Host; req.URL.Port() == "" {
			target = net.JoinHostPort(req.URL.Hostname(), "80")
		}
	}
	out, err := p.dialer.connect(p.ctx, target)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		fail(http.StatusForbidden, fmt.Errorf("the sandbox does not let the command reach %s: %w", target, err))
		return
	case err != nil:
		fail(http.StatusBadGateway, err)
		return
	}
	defer out.Close()
	defer p.closeAtEnd(out)()
	if req.Method == http.MethodConnect {
		if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
			p.join(conn, r, out)
		}
		return
	}
	// One request a connection: the next one may be for another host.
	req.Header.Del("Proxy-Connection")
	req.Header.Del("Proxy-Authorization")
	req.Close = true
	if err := req.Write(out); err != nil {
		fail(http.StatusBadGateway, err)
		return
	}
	_, _ = io.Copy(conn, out)
}

// closeAtEnd closes a connection when the proxy ends, unless stop is called before.
func (p *proxy) closeAtEnd(c net.Conn) (stop func() bool) {
	return context.AfterFunc(p.ctx, func() { c.Close() })
}

// join copies both ways until both have ended.
func (p *proxy) join(conn net.Conn, r io.Reader, out net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(out, r); closeWrite(out) })
	_, _ = io.Copy(conn, out)
	closeWrite(conn)
	wg.Wait()
}

func closeWrite(c net.Conn) {
	if c, ok := c.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// socks speaks SOCKS5 without authentication, only CONNECT.
func (p *proxy) socks(conn net.Conn, r *bufio.Reader) {
	target, err := socksTarget(conn, r)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	reply := func(code byte) error {
		_, err := conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
		return err
	}
	out, err := p.dialer.connect(p.ctx, target)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		_ = reply(2)
		return
	case err != nil:
		_ = reply(4)
		return
	}
	defer out.Close()
	defer p.closeAtEnd(out)()
	if reply(0) == nil {
		p.join(conn, r, out)
	}
}

func socksTarget(conn net.Conn, r *bufio.Reader) (string, error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", err
	}
	if _, err := r.Discard(int(head[1])); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil {
		return "", err
	}
	req := make([]byte, 4)
	if _, err := io.ReadFull(r, req); err != nil {
		return "", err
	}
	if req[0] != 5 || req[1] != 1 {
		_, _ = conn.Write([]byte{5, 7, 0, 1, 0, 0, 0, 0, 0, 0})
		return "", errors.New("not CONNECT")
	}
	size := 0
	switch req[3] {
	case 1:
		size = 4
	case 4:
		size = 16
	case 3:
		n, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		size = int(n)
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(r, rest); err != nil || size == 0 {
		return "", errors.New("no address")
	}
	host := string(rest[:size])
	if req[3] != 3 {
		addr, _ := netip.AddrFromSlice(rest[:size])
		host = addr.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(rest[size:])))), nil
}
