package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/sandbox/internal/wire"
)

// Session runs the commands of one session in sandboxes that share a loopback,
// /tmp and the copies of caches, and nothing else. It is safe for concurrent
// use.
type Session struct {
	opts    Options
	support Support
	backend Backend
	why     string
	dir     string
	lock    *os.File // of dir

	mu      sync.Mutex
	holder  *holder
	proxy   *proxy
	closed  bool
	running map[*Process]struct{}

	dial dialFunc // nil means the real one; for tests

	scanner scanner
	names   nameLock // held while names of the workspace are made or moved
	sockets sockets  // that the session's commands have bound
}

// Open prepares a session's sandboxes. It starts nothing: the first command
// does.
func Open(opts Options) (*Session, error) {
	s := &Session{opts: opts, support: Detect(), running: make(map[*Process]struct{})}
	if opts.Support != nil {
		s.support = *opts.Support
	}
	if opts.Mode == "" {
		s.opts.Mode = Auto
	}
	switch {
	case opts.Mode == Off:
		s.why = "the sandbox is switched off (--sandbox=off)"
	default:
		s.backend, s.why = s.support.Backend()
	}
	if s.backend == "" && opts.Mode == Required {
		return nil, fmt.Errorf("a sandbox is required, and there is none: %s", s.why)
	}
	dir := opts.Dir
	if dir == "" {
		dir = os.TempDir()
	}
	var err error
	if s.dir, s.lock, err = makeOwn(dir); err != nil {
		return nil, err
	}
	if s.names.file, err = openNames(opts.Dir); err != nil {
		return nil, errors.Join(err, removeOwn(s.dir, s.lock))
	}
	return s, nil
}

// Backend returns how commands are held; "" and why they are not.
func (s *Session) Backend() (Backend, string) { return s.backend, s.why }

// Plan says what is held of a profile now. It looks at the workspace.
func (s *Session) Plan(p *Profile) (*Plan, error) {
	if s.backend == "" {
		return &Plan{NotHeld: []string{s.why}}, nil
	}
	l, err := p.layout(&s.scanner, s.dir, nil)
	if err != nil {
		return nil, err
	}
	s.finish(p, l)
	return &l.plan, nil
}

// Holds reports whether all that p denies is impossible, and if not, why. It
// looks at the workspace only where the answer depends on that.
func (s *Session) Holds(p *Profile) (held bool, why []string, err error) {
	if s.support.Supervisor && s.backend == Namespaces && len(partlyWritable(p)) == 0 {
		return true, nil, nil
	}
	plan, err := s.Plan(p)
	if err != nil {
		return false, nil, err
	}
	return plan.Holds(), plan.NotHeld, nil
}

// finish completes the plan for the session's backend.
func (s *Session) finish(p *Profile, l *layout) {
	l.plan.Backend = s.backend
	switch {
	case s.backend == Landlock:
		if l.forLandlock(p); s.support.Landlock < truncateABI {
			l.plan.NotHeld = append(l.plan.NotHeld, noTruncate)
		}
	case len(l.judged) > 0 && !s.support.Supervisor:
		l.plan.NotHeld = append(l.plan.NotHeld, notTold)
	}
}

// start runs cmd.
func (s *Session) start(cmd *Command) (*Process, error) {
	if s.backend == "" {
		return nil, fmt.Errorf("%w: %s", ErrNotHeld, s.why)
	}
	var last error
	for range 3 { // what was found may be gone when it is mounted
		p, err := s.attempt(cmd)
		if err == nil {
			return p, nil
		}
		if !errors.Is(err, errSetup) {
			return nil, err
		}
		last = err
	}
	return nil, last
}

// errSetup says that the sandbox could not be built.
var errSetup = errors.New("building the sandbox")

func (s *Session) attempt(cmd *Command) (*Process, error) {
	stdio, err := cmd.stdio()
	if err != nil {
		return nil, err
	}
	defer stdio.close()
	env, planned := cmd.Env, time.Now().Add(-settleTime)
	var pidfd, socket, asks *os.File
	var l *layout
	var stop func()
	role := s.backend
	switch role {
	case Namespaces:
		h, proxy, err := s.hold(cmd.Profile)
		if err != nil {
			return nil, err
		}
		// The process starts while the workspace is looked at.
		type spawned struct {
			pidfd, socket, asks *os.File
			err                 error
		}
		came := make(chan spawned, 1)
		go func() {
			pidfd, socket, asks, err := h.spawn(stdio.files)
			came <- spawned{pidfd, socket, asks, err}
		}()
		var layoutErr error
		l, layoutErr = cmd.Profile.layout(&s.scanner, s.dir, h.copied)
		got := <-came
		if err := errors.Join(layoutErr, got.err); err != nil {
			if got.err == nil {
				got.socket.Close()
				got.asks.Close()
				got.pidfd.Close()
			}
			return nil, err
		}
		pidfd, socket, asks, stop = got.pidfd, got.socket, got.asks, func() {}
		if cmd.Profile.Hosts && proxy != "" {
			env = withProxy(env, proxy)
		}
	default:
		l, err = cmd.Profile.layout(&s.scanner, s.dir, nil)
		if err != nil {
			return nil, err
		}
		if pidfd, socket, stop, err = direct(stdio.files); err != nil {
			return nil, err
		}
	}
	if s.backend == Landlock {
		env = forLandlockEnv(env, s.dir)
	}
	if cmd.Settle != nil && !l.racy.IsZero() {
		cmd.Settle(l.racy)
	}
	s.finish(cmd.Profile, l)
	job := wire.Job{
		Args: cmd.Args, Env: env, Dir: cmd.Dir, Mounts: l.mounts, Read: l.read, Write: l.write,
		Landlock: s.support.Landlock > 0, Judged: l.judged, Free: l.free,
		Supervise: s.support.Supervisor && s.backend != Landlock,
		Watched:   l.watched, Planned: planned.UnixNano(),
		NoInternet: s.backend == Landlock, Datagrams: sendsDatagrams(cmd.Profile),
		Limits:   cmd.Limits.list(),
		Terminal: cmd.Terminal,
	}
	p := &Process{
		session: s, profile: cmd.Profile, plan: &l.plan, held: slices.Concat(l.plan.Hidden, l.plan.ReadOnly),
		pidfd: pidfd, socket: socket, asks: asks, stop: stop, done: make(chan struct{}),
	}
	if err := p.begin(&job); err != nil {
		return nil, fmt.Errorf("%w: %w", errSetup, err)
	}
	return s.keep(p)
}

// startUnheld runs cmd in no sandbox.
func (s *Session) startUnheld(cmd *Command) (*Process, error) {
	stdio, err := cmd.stdio()
	if err != nil {
		return nil, err
	}
	defer stdio.close()
	pidfd, socket, stop, err := direct(stdio.files)
	if err != nil {
		return nil, err
	}
	p := &Process{session: s, plan: &Plan{NotHeld: []string{s.why}}, pidfd: pidfd, socket: socket, stop: stop, done: make(chan struct{})}
	if err := p.begin(&wire.Job{Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Terminal: cmd.Terminal, Unheld: true}); err != nil {
		return nil, err
	}
	return s.keep(p)
}

// keep answers what a process asks until it ends.
func (s *Session) keep(p *Process) (*Process, error) {
	s.mu.Lock()
	s.running[p] = struct{}{}
	closed := s.closed
	s.mu.Unlock()
	go p.follow()
	if closed {
		p.Kill()
		<-p.done
		return nil, errClosed
	}
	return p, nil
}

var errClosed = errors.New("the session's sandbox is closed")

// hold returns the session's holder and the address of its proxy.
func (s *Session) hold(p *Profile) (*holder, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, "", errClosed
	}
	if s.holder != nil {
		select {
		case <-s.holder.done: // killed from outside
			s.holder.close()
			s.holder = nil
		default:
		}
	}
	if s.holder == nil {
		var copies []string
		for _, f := range p.Folders {
			if info, err := os.Stat(f.Path); err == nil && info.IsDir() && f.Access == Copy {
				copies = append(copies, f.Path)
			}
		}
		h, err := startHolder(s.dir, copies, s.opts.Network != nil)
		if err != nil {
			return nil, "", err
		}
		s.holder = h
		if h.proxy != nil {
			s.proxy = serveProxy(h.proxy, s.opts.Network, s.dial)
		}
	}
	addr := ""
	if s.holder.proxy != nil {
		addr = s.holder.proxy.Addr().String()
	}
	return s.holder, addr, nil
}

// Close ends all commands and removes what they shared. It returns when
// nothing of them is left.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	h, proxy := s.holder, s.proxy
	var running []*Process
	for p := range s.running {
		running = append(running, p)
	}
	s.mu.Unlock()
	for _, p := range running {
		p.Kill()
		<-p.done
	}
	if h != nil {
		h.close()
	}
	if proxy != nil {
		proxy.close()
	}
	return errors.Join(s.names.close(), removeOwn(s.dir, s.lock))
}

// removeAll removes a tree in which folders may lack the right to write: the
// caches of modules do.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
