package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/hostport"
	"github.com/agentworker/worker/internal/httpheader"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/ownpath"
)

// remote connects to a server on another machine. Where streamable HTTP fails, the older
// transport is tried.
func (c *connection) remote(ctx context.Context, client *mcp.Client, server *mcpconfig.Server) (*mcp.ClientSession, *running, error) {
	caller, err := c.caller(ctx, server)
	if err != nil {
		return nil, nil, err
	}
	run := &running{end: func() error { caller.CloseIdleConnections(); return nil }, how: func() string { return "" }}
	connect := func(t mcp.Transport) (*mcp.ClientSession, error) { return client.Connect(ctx, t, nil) }
	if server.Transport == mcpconfig.SSE {
		session, err := connect(&mcp.SSEClientTransport{Endpoint: server.URL, HTTPClient: caller})
		return session, watch(run, session), err
	}
	session, err := connect(&mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: caller, MaxRetries: 3, OAuthHandler: c.handler(ctx, caller)})
	if err == nil {
		return session, watch(run, session), nil
	}
	if ctx.Err() == nil {
		if session, older := connect(&mcp.SSEClientTransport{Endpoint: server.URL, HTTPClient: caller}); older == nil {
			return session, watch(run, session), nil
		}
	}
	return nil, run, err
}

// watch has it told when the connection of a session ends.
func watch(run *running, session *mcp.ClientSession) *running {
	if session == nil {
		return run
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = session.Wait()
	}()
	end := run.end
	run.gone = gone
	run.end = func() error {
		_ = session.Close()
		<-gone
		return end()
	}
	return run
}

// caller returns the HTTP client for a server. It sends headers only to the server's host, and
// follows redirects only there. It reaches no address of this machine that the URL does not
// name.
func (c *connection) caller(ctx context.Context, server *mcpconfig.Server) (*http.Client, error) {
	at, err := url.Parse(server.URL)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	for name, text := range server.Headers {
		headers.Set(name, text)
	}
	if server.HeadersHelper != "" {
		more, err := c.helped(ctx, server.HeadersHelper)
		if err != nil {
			return nil, fmt.Errorf("headersHelper: %w", err)
		}
		for name, text := range more {
			headers.Set(name, text)
		}
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	if base.DialContext = (&net.Dialer{Timeout: startTime}).DialContext; !hostport.Internal(hostOf(at)) {
		c.dialOutside(base, at)
	}
	return &http.Client{
		Transport: &withHeaders{base: base, host: at.Host, headers: headers},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != at.Host || req.URL.Scheme != at.Scheme || len(via) > 5 {
				return fmt.Errorf("it redirects to %s://%s, which is not what was trusted", req.URL.Scheme, req.URL.Host)
			}
			return nil
		},
	}, nil
}

// hostOf returns host:port of a URL.
func hostOf(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80"}[u.Scheme]+map[string]string{"https": "443"}[u.Scheme])
}

// dialOutside has a transport for a server on another machine reach no address of this machine. The
// server itself may be on this network; any other host, as that of its login, must be named to be there.
func (c *connection) dialOutside(base *http.Transport, at *url.URL) {
	var proxies sync.Map // by their hosts, which the environment names
	if proxy := base.Proxy; proxy != nil {
		base.Proxy = func(r *http.Request) (*url.URL, error) {
			u, err := proxy(r)
			if u != nil {
				proxies.Store(u.Hostname(), true)
			}
			return u, err
		}
	}
	base.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(to)
		if err != nil {
			return nil, err
		}
		_, named := proxies.Load(host)
		named = named || strings.EqualFold(host, at.Hostname()) || reaches(c.said.Hosts, to)
		d := &net.Dialer{Timeout: startTime, Control: func(_, address string, _ syscall.RawConn) error {
			inside, err := outside(to, address)
			if inside && !named {
				err = fmt.Errorf("%s leads to %s, an address of this machine or its network: %s allows it", to, address, c.naming(to))
			}
			return err
		}}
		return d.DialContext(ctx, network, to)
	}
}

// outside refuses addresses of this machine and link-local ones, to which the name of a server on
// another machine must not lead. inside are those of this network.
func outside(host, address string) (inside bool, err error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return false, err
	}
	a := to.Addr().Unmap()
	if a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() {
		return false, fmt.Errorf("%s leads to %s, an address of this machine", host, address)
	}
	return hostport.InternalAddr(a), nil
}

// withHeaders adds headers to the requests to one host, and bounds what it answers.
type withHeaders struct {
	base    *http.Transport
	host    string
	headers http.Header
}

// maxAnswer bounds one answer, in bytes; a stream of events has bounds of its own.
const maxAnswer = 64 << 20

func (t *withHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == t.host {
		req = req.Clone(req.Context())
		for name, texts := range t.headers {
			req.Header[name] = texts
		}
	}
	res, err := t.base.RoundTrip(req)
	if err == nil && !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (t *withHeaders) CloseIdleConnections() { t.base.CloseIdleConnections() }

// helperTime bounds a command that prints headers.
const helperTime = 10 * time.Second

// helped runs the command that prints headers, a JSON object of texts. It runs outside of
// the sandbox, as the person who trusts the server has seen, and without keys. It runs in the workspace
// itself, whose scripts no agent writes, also for a session in a worktree.
func (c *connection) helped(ctx context.Context, line string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	shell, err := ownpath.Look("sh")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.servers.opts.Root, ownpath.Environ(c.ws.Environ()), time.Second
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, 64 << 10}, &limited{&wrong, 4 << 10}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(wrong.String()))
	}
	var headers map[string]string
	if json.Unmarshal(out.Bytes(), &headers) != nil {
		return nil, errors.New("it printed no JSON object of texts")
	}
	for name, text := range headers {
		if err := httpheader.Check(name, text); err != nil {
			return nil, err
		}
	}
	return headers, nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	to   *bytes.Buffer
	room int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.room)
	l.to.Write(p[:n])
	l.room -= n
	return len(p), nil
}
