package httpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver/metrics"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/internal/caller"
)

const (
	// requestTimeout is how long a client may take to send a request.
	requestTimeout = 30 * time.Second

	// followGrace is how long streams may go on at the end. The streams of sessions that
	// ran here end by themselves; others would go on for ever.
	followGrace = time.Second

	// closeGrace is how long clients may take to accept the last bytes.
	closeGrace = 5 * time.Second
)

// Server is the running server.
type Server struct {
	opts  *Options
	guard *guard
	page  *page.Page // may be nil

	tasks     taskAPI
	sessions  sessionAPI
	agents    agentAPI
	approvals approvalAPI
	status    statusAPI

	listener net.Listener
	secure   net.Listener // with TLS; may be nil
	http     *http.Server
	cancel   context.CancelFunc // ends all requests
	done     chan struct{}      // closed when everything has ended
	streams  streams            // that are open
	err      error              // of the end; read after done
}

// Start serves on addr, a loopback address with a port (0: any free one), until ctx ends.
// Then it accepts no more calls, cancels and answers the running ones, lets the streams run
// out, and closes. Wait returns when that is done.
func Start(ctx context.Context, addr string, opts Options) (*Server, error) {
	if opts.Token == "" {
		return nil, errors.New("starting the HTTP server: the token is empty")
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.MaxStreams = cmp.Or(opts.MaxStreams, DefaultMaxStreams)
	opts.Heartbeat = cmp.Or(opts.Heartbeat, 15*time.Second)
	s := &Server{opts: &opts, done: make(chan struct{}), streams: streams{most: opts.MaxStreams}}
	var err error
	if s.listener, err = listen(addr); err != nil {
		return nil, fmt.Errorf("starting the HTTP server: %w", err)
	}
	s.guard = &guard{Options: s.opts}
	if opts.TLS != nil {
		if s.secure, s.guard.certs, err = opts.TLS.listen(opts.Tokens, opts.Logger); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrTLS, err), s.listener.Close())
		}
	}
	if opts.Page != nil {
		of := *opts.Page
		of.Sessions, of.Bus, of.Token, of.Logger, of.Explain, of.Named = opts.Sessions, opts.Bus, opts.Token, opts.Logger, opts.Explain, opts.Tokens.Named
		of.Level = opts.Tasks.BudgetLevel
		s.page = page.New(of)
		s.guard.page = s.page
	}
	s.handle(caller.New(opts.Tasks, cmp.Or(opts.MaxCalls, opts.Tasks.OpenCalls()), opts.Logger))
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.http = &http.Server{
		Handler:           count(s.status.metrics, s.guard.protect(s.routes())),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       requestTimeout, // handlers that take longer lift it
		WriteTimeout:      writeTimeout,   // and set this one anew at each write
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(opts.Logger.Handler(), slog.LevelWarn),
	}
	go s.run(ctx)
	return s, nil
}

// handle makes the handlers of the routes, which share the calls of a pool.
func (s *Server) handle(calls *caller.Pool) {
	s.tasks = taskAPI{s.opts, calls}
	s.sessions = sessionAPI{s.opts, func(id string) {
		if s.page != nil {
			s.page.Deleted(id)
		}
	}}
	s.agents, s.approvals = agentAPI{s.opts}, approvalAPI{s.opts}
	s.status = statusAPI{s.opts, calls, metrics.New(s.opts.snapshot, s.opts.Logger)}
}

// ErrTLS is in the error of [Start] where the listener with TLS could not be opened.
var ErrTLS = errors.New("starting the HTTP server with TLS")

// URL returns the server's address: http://127.0.0.1:7433.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// SecureURL returns the address with TLS: https://0.0.0.0:7434. Without one it is empty.
func (s *Server) SecureURL() string {
	if s.secure == nil {
		return ""
	}
	at := s.secure.Addr().String()
	if host, _, err := net.SplitHostPort(s.opts.TLS.Addr); err == nil && host != "" { // 0.0.0.0 would be shown as [::]
		_, port, _ := net.SplitHostPort(at)
		at = net.JoinHostPort(host, port)
	}
	return "https://" + at
}

// PageLink returns an address of the page that logs a browser in, once, and until when
// it can be used. Without a page it is empty.
func (s *Server) PageLink() (url string, expires time.Time) {
	if s.page == nil {
		return "", time.Time{}
	}
	return s.page.Link(s.URL(), "")
}

// Wait returns when the server has ended in order, or why it ended otherwise.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

func (s *Server) run(ctx context.Context) {
	defer close(s.done)
	defer s.cancel()
	watched, unwatch := context.WithCancel(ctx)
	var watching sync.WaitGroup
	if s.opts.MCP != nil && s.opts.Tokens != nil {
		watching.Go(func() { s.guard.endRevoked(watched) })
	}
	defer watching.Wait()
	defer unwatch()
	listeners := []net.Listener{s.listener}
	if s.secure != nil {
		listeners = append(listeners, s.secure)
	}
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { served <- s.http.Serve(l) }()
	}
	left := len(listeners)
	select {
	case <-ctx.Done():
		s.err = s.shutdown()
	case err := <-served:
		left--
		s.err = errors.Join(fmt.Errorf("serving HTTP: %w", err), s.shutdown())
	}
	for range left {
		<-served
	}
}

func (s *Server) shutdown() error {
	var calls sync.WaitGroup
	calls.Go(s.tasks.calls.Close)
	if s.opts.MCP != nil {
		calls.Go(s.opts.MCP.Close)
	}
	if s.page != nil {
		calls.Go(s.page.Close)
	}
	calls.Wait()
	err := s.drain(followGrace)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cancel()
		err = s.drain(closeGrace)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close() // of clients that don't take their answer
	}
	return err
}

// drain waits until all requests are answered.
func (s *Server) drain(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return s.http.Shutdown(ctx)
}
