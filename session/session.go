package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// storeTimeout bounds a write to the store that has to happen even though the
// session's own context has ended.
const storeTimeout = 10 * time.Second

// brokenTimeout is the same once the store has failed the session: it is tried,
// and not waited for again.
const brokenTimeout = time.Second

// Session is a session that runs in this process. Prompt and Call are its two
// ways to work; End ends it.
type Session struct {
	m          *Manager
	parent     *Session // nil: a root
	id         string
	agent      string
	path       event.Path
	system     string
	model      model.Model // of a caller: what it brings along; nil: nothing
	params     Params
	accept     func(answer string) (string, error) // nil: any answer
	tools      map[string]tool.Tool
	toolNames  []string // in the order in which the model sees them
	rulesets   []*permission.Ruleset
	maxSteps   int
	timeLimit  time.Duration
	approver   Approver
	messages   []model.Message // touched by the running turn only
	callIDs    map[string]bool // likewise
	background context.Context // of what must be stored, cancelled or not

	taken atomic.Bool // another process has ended it

	lasting bool                    // its caller makes call after call: who stops it ends it
	life    context.Context         // ends when the session is stopped, or has ended
	kill    context.CancelCauseFunc // of life
	done    chan struct{}           // closed when End has returned

	mu        sync.Mutex
	active    int           // calls of a caller that run now
	idle      chan struct{} // closed when none does any more; nil: nobody waits for that
	publisher *eventbus.Publisher
	ending    bool // End has been called
	record    Record
	rev       uint64
	runtime   *permission.Ruleset
	clock     *clock // nil: no turn has begun
	shown     event.Status
	broken    error // why the session can't go on: its store failed

	waitMu     sync.Mutex
	waiting    int // tool calls that wait for an approval
	resumeTime func()
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Agent returns the agent's name; empty: the session stands for a caller.
func (s *Session) Agent() string { return s.agent }

// Path returns the way from the root session to this one.
func (s *Session) Path() event.Path { return s.path }

// Record returns a copy of the session's record.
func (s *Session) Record() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// Call makes one tool call on behalf of the caller that a root session stands
// for, through the gate like any other. Calls may run at once.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (CallResult, error) {
	call := model.ToolCall{ID: newID("call"), Name: name, Arguments: string(args)}
	id, resultID := newID("msg"), newID("msg")
	if err := s.begin(); err != nil {
		return CallResult{}, err
	}
	last := sync.OnceValue(s.finish)
	defer last()
	ctx, release := s.Bound(ctx)
	defer release()
	var step int
	err := s.change(func(r *Record) error {
		r.Steps++
		step = r.Steps
		return r.transition(Running, nil, time.Now().UTC())
	})
	if err != nil {
		return CallResult{}, err
	}
	if err := s.storeMessage(id, model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{call}}); err != nil {
		return CallResult{}, err
	}
	s.status(event.StatusExecutingTool)
	s.publish(event.ToolCallStart{ToolCallID: call.ID, ToolName: name, Arguments: call.Arguments, MessageID: id, Step: step})
	res := s.invoke(ctx, call, id)
	err = s.storeMessage(resultID, model.Message{Role: model.User, ToolResults: []model.ToolResult{
		{ToolCallID: call.ID, Text: res.Text, IsError: res.IsError},
	}})
	s.publish(event.TurnComplete{Message: event.TurnMessage{ID: resultID, Text: res.Text}})
	if last() {
		s.status(event.StatusIdle)
	}
	return res, errors.Join(err, s.brokenBy())
}

// End stores how the session ended, publishes its last event, and returns when
// all of its events are stored; nothing is published after it. status is one
// that [Status.Ended] reports. A session ends once; later calls return
// [ErrEnded]. If an event before could not be stored, the session has failed
// whatever status says, and End returns why.
func (s *Session) End(status Status, why error) error {
	if !status.Ended() {
		return fmt.Errorf("session %s can't end as %q", s.id, status)
	}
	s.mu.Lock()
	if s.ending {
		s.mu.Unlock()
		return fmt.Errorf("session %s: %w", s.id, ErrEnded)
	}
	s.ending = true
	s.mu.Unlock()
	defer func() {
		s.m.forget(s.id)
		s.kill(ErrEnded)
		close(s.done)
	}()

	ctx, cancel := s.storeContext()
	defer cancel()
	incomplete := s.stream().Flush(ctx)
	if incomplete != nil {
		s.note(incomplete)
		if status == Completed {
			status, why = Failed, incomplete
		}
		s.stream().Close() // nothing of it may come after the end
		if err := s.newStream(); err != nil {
			return errors.Join(incomplete, err)
		}
	}
	// The record first: a reader of session_end finds the session ended. Of two
	// processes that end it one wins here; what it then leaves undone, Recover
	// finds by the record, which is not closed yet.
	if err := s.become(status, why); err != nil {
		return errors.Join(incomplete, err)
	}
	switch status {
	case Failed, TimedOut:
		s.status(event.StatusError)
		s.publish(errorEvent(status, why))
	case Cancelled, Interrupted:
		s.status(event.StatusAborted)
	}
	ctx, cancel = s.storeContext()
	defer cancel()
	if err := s.stream().End(ctx, event.SessionEnd{Status: string(status)}); err != nil {
		return errors.Join(incomplete, err)
	}
	return errors.Join(incomplete, s.change(closeRecord))
}

// closeRecord notes that the session's stream has its session_end.
func closeRecord(r *Record) error {
	r.Closed = true
	return nil
}

func errorEvent(status Status, why error) event.Error {
	ev := event.Error{Code: string(status), Message: string(status)}
	if why != nil {
		ev.Message = errtext.Of(why)
	}
	var modelErr *model.Error
	if errors.As(why, &modelErr) {
		ev.Code = "model_" + string(modelErr.Kind)
	}
	return ev
}

// offeredTools describes the tools that the model may call: those that are
// there at the moment, and not denied whatever their arguments.
func (s *Session) offeredTools() []model.ToolSpec {
	var specs []model.ToolSpec
	for _, name := range s.toolNames {
		if slices.ContainsFunc(s.rulesets, func(r *permission.Ruleset) bool { return r.DeniesAll(name) }) {
			continue
		}
		spec := s.tools[name].Spec()
		if spec.Unavailable {
			continue
		}
		specs = append(specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, InputSchema: spec.InputSchema})
	}
	return specs
}

// become changes the session's state.
func (s *Session) become(to Status, why error) error {
	return s.change(func(r *Record) error { return r.transition(to, why, time.Now().UTC()) })
}

// change changes the stored record by compare-and-set. f sees a copy, which
// counts once it is stored; it may see a second one.
func (s *Session) change(f func(*Record) error) error {
	ctx, cancel := s.storeContext()
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.record
	if err := f(&next); err != nil {
		return err
	}
	if reflect.DeepEqual(next, s.record) {
		return nil
	}
	rev, err := s.m.store.update(ctx, &next, s.rev)
	if errors.Is(err, errConflict) {
		// Ours, stored, and its acknowledgement lost; or another process's.
		stored, current, readErr := s.m.store.read(ctx, s.id)
		switch {
		case readErr != nil:
			return errors.Join(err, readErr)
		case stored.EndedBy != "":
			return s.drop(stored)
		case stored.BootID != s.record.BootID, stored.Status.Ended() && !next.Status.Ended():
			return fmt.Errorf("session %s is %s, by another process: %w", s.id, stored.Status, ErrEnded)
		}
		next = *stored
		if err := f(&next); err != nil {
			return err
		}
		rev, err = s.m.store.update(ctx, &next, current)
	}
	if err != nil {
		return err
	}
	s.record, s.rev = next, rev
	return nil
}

// storeContext bounds a write to the store, whatever has become of the
// session's own context.
func (s *Session) storeContext() (context.Context, context.CancelFunc) {
	timeout := storeTimeout
	if s.brokenBy() != nil {
		timeout = brokenTimeout
	}
	return context.WithTimeout(s.background, timeout)
}

func (s *Session) stream() *eventbus.Publisher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.publisher
}

func (s *Session) newStream() error {
	p, err := s.m.bus.Publisher(s.path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publisher = p
	return nil
}

// status publishes what the session does now, if that is something else.
func (s *Session) status(status event.Status) {
	s.mu.Lock()
	same := s.shown == status
	s.shown = status
	s.mu.Unlock()
	if !same {
		s.publish(event.StatusChange{Status: status})
	}
}

// publish hands an event to the stream. Where that fails the session is
// broken, and ends.
func (s *Session) publish(ev event.Event) {
	if s.m.keeper.away() { // somebody may have ended the session meanwhile
		s.m.keeper.renew(s.background)
	}
	if s.taken.Load() {
		return // its last event is stored
	}
	s.note(s.stream().Publish(s.background, ev))
}

// note takes an error of the store: the session can't go on.
func (s *Session) note(err error) {
	if err == nil || errors.Is(err, ErrEnded) || errors.Is(err, eventbus.ErrEnded) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return
	}
	s.broken = err
	if s.clock != nil {
		s.clock.cancel(err)
	}
}

// HoldTime stops the clocks of the session and of those above it until resume
// is called: while it waits for something that is not its own work.
func (s *Session) HoldTime() (resume func()) {
	var held []*clock
	for at := s; at != nil; at = at.parent {
		c := at.time()
		c.pause()
		held = append(held, c)
	}
	return func() {
		for _, c := range held {
			c.resume()
		}
	}
}

// time returns the clock of the running turn; nil: there is none.
func (s *Session) time() *clock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

func (s *Session) brokenBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
}

func (s *Session) storeMessage(id string, message model.Message) error {
	ctx, cancel := s.storeContext()
	defer cancel()
	return s.m.store.append(ctx, &Message{
		Schema: messageSchema, ID: id, SessionID: s.id, CreatedAt: time.Now().UTC(), Message: message,
	})
}

// toolsByName sorts tools by name for look-up, and refuses two of one name.
func toolsByName(tools []tool.Tool) (map[string]tool.Tool, []string, error) {
	byName := make(map[string]tool.Tool, len(tools))
	var names []string
	for _, t := range tools {
		name := t.Spec().Name
		if name == "" || strings.ContainsAny(name, " \t\n") {
			return nil, nil, fmt.Errorf("%q is no tool name", name)
		}
		if byName[name] != nil {
			return nil, nil, fmt.Errorf("there are two tools named %s", name)
		}
		byName[name] = t
		names = append(names, name)
	}
	return byName, names, nil
}
