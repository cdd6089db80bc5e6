package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Bounds of what is kept.
const (
	maxRunning = 8  // commands of one session that run at once
	maxAll     = 64 // commands of all sessions of a process that run at once
	maxEnded   = 8  // commands of one session that have ended and can be read
	killGrace  = 2 * time.Second
	startWait  = 2 * time.Second // for a command that a call is about to start
)

// Info describes a command to its session.
type Info struct {
	ID       string
	CallID   string // of the call that has started it
	Line     string // the command line
	Terminal bool
}

// End is how a command has ended.
type End struct {
	Status   int    // exit status; -1: a signal has ended it, or it is not known
	Signal   string // "signal: killed"; empty means none
	Stopped  string // who or what has stopped it; empty means it has ended by itself
	Bytes    int64  // that it has written
	Duration time.Duration
}

// String says in a few words how the command has ended.
func (e End) String() string {
	text := fmt.Sprintf("exit status %d", e.Status)
	if e.Status < 0 {
		text = "ended by " + e.Signal
	}
	if e.Stopped != "" {
		text += ", stopped by " + e.Stopped
	}
	return text
}

// Session hears of the start and the end of its commands. It is safe for concurrent use.
type Session interface {
	CommandStarted(c Info)
	CommandEnded(c Info, end End)

	// CommandProgressed hears now and then what a command has come to.
	CommandProgressed(c Info, p Progress)

	// CommandMatched hears of lines that a command was to notify of, and of its end, unless the
	// model knows of it. Each notice of a command has a number.
	CommandMatched(c Info, n Notice)

	// Judge decides by the rules, without a question, on a value that shows up while no call runs.
	Judge(ctx context.Context, callID string, value permission.Value) error
}

// Table counts the commands of all sessions of a process. It is safe for concurrent use.
type Table struct {
	mu      sync.Mutex
	running int
	open    map[*Commands]struct{}
	closed  bool
}

// NewTable returns an empty table.
func NewTable() *Table { return &Table{open: make(map[*Commands]struct{})} }

// Open returns the commands of a session. Their ids begin behind the number before. It has to be
// ended.
func (t *Table) Open(s Session, before int) *Commands {
	return &Commands{table: t, session: s, number: before}
}

// Close ends the commands of all sessions, and returns when nothing of them runs. None begins
// after that. by says what has stopped them.
func (t *Table) Close(by string) {
	t.mu.Lock()
	t.closed = true
	open := make([]*Commands, 0, len(t.open))
	for c := range t.open {
		open = append(open, c)
	}
	t.mu.Unlock()
	var ending sync.WaitGroup
	for _, c := range open {
		ending.Go(func() { c.End(by) })
	}
	ending.Wait()
}

// enter counts a command that begins.
func (t *Table) enter(c *Commands) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return errors.New("the worker ends: no command begins in the background")
	case t.running >= maxAll:
		return fmt.Errorf("%d commands run in the background of this worker's sessions, and no more may: run it without background, or try again later", t.running)
	}
	t.running++
	t.open[c] = struct{}{}
	return nil
}

func (t *Table) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
}

func (t *Table) forget(c *Commands) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

// Commands are those of one session that run in its background, and the last ones that did. It is
// safe for concurrent use.
type Commands struct {
	table   *Table
	session Session

	mu     sync.Mutex
	number int                              // of the last one
	waited map[string]func(by string) error // move the commands for which calls wait, by these
	came   chan struct{}                    // closed once a call waits for a command; nil means nobody wants to know
	list   []*command                       // in the order of their starts
	ended  bool
	ends   sync.WaitGroup // of those that run
}

var _ tool.Background = (*Commands)(nil)

// Judge implements [tool.Background].
func (s *Commands) Judge(ctx context.Context, callID string, value permission.Value) error {
	return s.session.Judge(ctx, callID, value)
}

// Foreground implements [tool.Background].
func (s *Commands) Foreground(callID string, move func(by string) error) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waited == nil {
		s.waited = make(map[string]func(string) error)
	}
	s.waited[callID] = move
	if s.came != nil {
		close(s.came)
		s.came = nil
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waited, callID)
	}
}

// Move moves the commands for which calls of the session wait to the background. The calls return.
// It waits for a command that is about to start. by names the person.
func (s *Commands) Move(by string) error {
	timer := time.NewTimer(startWait)
	defer timer.Stop()
	var waited []func(string) error
	for {
		s.mu.Lock()
		if waited = slices.Collect(maps.Values(s.waited)); len(waited) == 0 && s.came == nil {
			s.came = make(chan struct{})
		}
		came := s.came
		s.mu.Unlock()
		if len(waited) > 0 {
			break
		}
		select {
		case <-came:
		case <-timer.C:
			return errors.New("no call of the session waits for a command")
		}
	}
	var errs []error
	for _, move := range waited {
		errs = append(errs, move(by))
	}
	return errors.Join(errs...)
}

// Start implements [tool.Background].
func (s *Commands) Start(ctx context.Context, b *tool.BackgroundCommand) (tool.Result, error) {
	var notify *regexp.Regexp
	if b.Notify != "" {
		var err error
		if notify, err = compile("notify", b.Notify); err != nil {
			return tool.Result{}, err
		}
	}
	_, wait, err := (&outputArgs{WaitSeconds: &b.WaitSeconds}).waiting()
	if err != nil {
		return tool.Result{}, err
	}
	log, err := newLog(b.LogDir, logBytes)
	if err != nil {
		return tool.Result{}, err
	}
	c, err := s.enter(b, log)
	if err == nil {
		if err = c.start(b); err != nil {
			s.remove(c)
		}
	}
	if err != nil {
		log.close()
		return tool.Result{}, err
	}
	s.session.CommandStarted(c.info)
	shown := make(chan struct{})
	defer close(shown)
	go func() {
		defer s.ends.Done()
		var watching sync.WaitGroup
		watching.Go(func() { c.watch(s.session) })
		if notify != nil || b.MovedBy != "" {
			watching.Go(func() { c.notify(s.session, notify, shown) })
		}
		c.wait(b.TimeLimit)
		watching.Wait()
		s.session.CommandEnded(c.info, c.state().end)
		s.table.leave()
	}()
	text := fmt.Sprintf("%s runs in the background: shell_output reads what it writes, shell_stop ends it. It ends with this session.", c.info.ID)
	if b.MovedBy != "" {
		text = fmt.Sprintf("%s has moved the command to the background, so that you can do other work: %s You get a message between two steps when it ends.", b.MovedBy, text)
	}
	if notify != nil {
		text += " You get a message between two steps when a line matches notify, and when the command ends."
	}
	if wait > 0 {
		return c.first(ctx, wait, text)
	}
	return tool.Result{Text: text, Meta: map[string]any{"commandId": c.info.ID}}, nil
}

// enter adds a command that begins, and drops the oldest ended ones.
func (s *Commands) enter(b *tool.BackgroundCommand, log *outputLog) (*command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errors.New("the session ends: no command begins in its background")
	}
	var running []string
	ended := 0
	for _, c := range slices.Backward(s.list) {
		if !c.over() {
			running = append(running, c.info.ID)
		} else if ended++; ended > maxEnded {
			s.drop(c)
		}
	}
	if len(running) >= maxRunning {
		slices.Reverse(running)
		return nil, fmt.Errorf("%d commands run in this session's background, and no more may (%s): stop one with shell_stop", len(running), strings.Join(running, ", "))
	}
	if err := s.table.enter(s); err != nil {
		return nil, err
	}
	s.number++
	c := &command{
		info:    Info{ID: fmt.Sprintf("cmd_%d", s.number), CallID: b.CallID, Line: b.Line, Terminal: b.Terminal},
		log:     log,
		done:    make(chan struct{}),
		typed:   make(chan struct{}, 1),
		stopped: make(chan struct{}),
		moved:   b.MovedBy != "",
	}
	s.list = append(s.list, c)
	s.ends.Add(1)
	return c, nil
}

// remove takes back enter.
func (s *Commands) remove(c *command) {
	s.table.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(o *command) bool { return o == c })
	s.ends.Done()
}

// drop forgets a command that has ended. s.mu is held.
func (s *Commands) drop(c *command) {
	s.list = slices.DeleteFunc(slices.Clone(s.list), func(o *command) bool { return o == c })
	c.log.close()
}

// get returns the command of an id; an empty one means the only command.
func (s *Commands) get(id string) (*command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, c := range s.list {
		if c.info.ID == id || id == "" && len(s.list) == 1 {
			return c, nil
		}
		ids = append(ids, c.info.ID)
	}
	switch {
	case len(ids) == 0:
		return nil, errors.New("no command was started in the background of this session, or its worker has ended since")
	case id == "":
		return nil, fmt.Errorf("give the id of a command: %s", strings.Join(ids, ", "))
	}
	return nil, fmt.Errorf("there is no command %q in the background: there are %s", termtext.CutBytes(id, termtext.MaxTitle), strings.Join(ids, ", "))
}

// Stop has a command end. It does not wait for that. by says who stops it.
func (s *Commands) Stop(id, by string) error {
	c, err := s.get(id)
	switch {
	case err != nil:
		return err
	case c.over():
		return fmt.Errorf("%s has ended", c.info.ID)
	}
	c.stop(by, false)
	return nil
}

// Running describes the commands that run, in a line each.
func (s *Commands) Running() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		if !c.over() {
			lines = append(lines, c.info.ID+" ("+termtext.OneLine(c.info.Line, termtext.MaxTitle)+")")
		}
	}
	return lines
}

// End stops all commands, and returns when nothing of them runs. None begins after that. by says
// what has stopped them.
func (s *Commands) End(by string) {
	s.mu.Lock()
	s.ended = true
	list := s.list
	s.mu.Unlock()
	for _, c := range list {
		c.stop(by, true)
	}
	s.ends.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		c.log.close()
	}
	s.list = nil
	s.table.forget(s)
}
