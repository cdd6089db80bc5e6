package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// storeTimeout bounds a write to the store that has to happen even though the
// session's own context has ended.
const storeTimeout = 30 * time.Second

// Session is a session that runs in this process. Prompt and Call are its two
// ways to work; End ends it.
type Session struct {
	m          *Manager
	id         string
	agent      string
	path       eventbus.Path
	system     string
	model      model.Model // nil: stands for a caller
	tools      map[string]tool.Tool
	toolNames  []string // in the order in which the model sees them
	rulesets   []*permission.Ruleset
	maxSteps   int
	timeLimit  time.Duration
	approver   Approver
	publisher  *eventbus.Publisher
	messages   []model.Message // touched by the running turn only
	callIDs    map[string]bool // likewise
	background context.Context // of what must be stored, cancelled or not

	mu      sync.Mutex
	record  Record
	rev     uint64
	runtime *permission.Ruleset
	clock   *clock // nil: no turn has begun
	shown   eventbus.Status
	broken  error // why the session can't go on: its store failed

	waitMu  sync.Mutex
	waiting int // tool calls that wait for an approval
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Agent returns the agent's name; empty: the session stands for a caller.
func (s *Session) Agent() string { return s.agent }

// Path returns the way from the root session to this one.
func (s *Session) Path() eventbus.Path { return s.path }

// Record returns a copy of the session's record.
func (s *Session) Record() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// Call makes one tool call on behalf of the caller that a root session stands
// for, through the gate like any other. Calls may run at once.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (CallResult, error) {
	if err := s.become(Running, nil); err != nil {
		return CallResult{}, err
	}
	call := model.ToolCall{ID: newID("call"), Name: name, Arguments: string(args)}
	id := newID("msg")
	var step int
	err := s.change(func(r *Record) error {
		r.Steps++
		step = r.Steps
		return nil
	})
	if err != nil {
		return CallResult{}, err
	}
	if err := s.storeMessage(id, model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{call}}); err != nil {
		return CallResult{}, err
	}
	s.status(eventbus.StatusExecutingTool)
	s.publish(eventbus.ToolCallStart{ToolCallID: call.ID, ToolName: name, Arguments: call.Arguments, MessageID: id, Step: step})
	res := s.invoke(ctx, call, id)
	err = s.storeMessage(newID("msg"), model.Message{Role: model.User, ToolResults: []model.ToolResult{
		{ToolCallID: call.ID, Text: res.Text, IsError: res.IsError},
	}})
	s.publish(eventbus.TurnComplete{Message: eventbus.TurnMessage{ID: id, Text: res.Text}})
	s.status(eventbus.StatusIdle)
	return res, errors.Join(err, s.brokenBy())
}

// End stores how the session ended, publishes its last event, and returns when
// all of its events are stored. A session ends once; later calls return
// [ErrEnded].
func (s *Session) End(status Status, why error) error {
	defer s.m.forget(s.id)
	// The record first: a reader of session_end finds the session ended, and
	// of two that end it only one publishes that.
	if err := s.become(status, why); err != nil {
		return err
	}
	switch status {
	case Failed, TimedOut:
		s.status(eventbus.StatusError)
		s.publish(errorEvent(status, why))
	case Cancelled, Interrupted:
		s.status(eventbus.StatusAborted)
	}
	s.publish(eventbus.SessionEnd{Status: string(status)})
	ctx, cancel := context.WithTimeout(s.background, storeTimeout)
	defer cancel()
	return s.publisher.Flush(ctx)
}

func errorEvent(status Status, why error) eventbus.Error {
	ev := eventbus.Error{Code: string(status), Message: string(status)}
	if why != nil {
		ev.Message = why.Error()
	}
	var modelErr *model.Error
	if errors.As(why, &modelErr) {
		ev.Code = "model_" + string(modelErr.Kind)
	}
	return ev
}

// offeredTools describes the tools that the model may call: those that are not
// denied whatever their arguments.
func (s *Session) offeredTools() []model.ToolSpec {
	var specs []model.ToolSpec
	for _, name := range s.toolNames {
		if slices.ContainsFunc(s.rulesets, func(r *permission.Ruleset) bool { return r.DeniesAll(name) }) {
			continue
		}
		spec := s.tools[name].Spec()
		specs = append(specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, InputSchema: spec.InputSchema})
	}
	return specs
}

// become changes the session's state.
func (s *Session) become(to Status, why error) error {
	return s.change(func(r *Record) error {
		_, err := r.transition(to, why, time.Now().UTC())
		return err
	})
}

// change changes the stored record by compare-and-set. f sees a copy, which
// counts once it is stored.
func (s *Session) change(f func(*Record) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.record
	if err := f(&next); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.background, storeTimeout)
	defer cancel()
	rev, err := s.m.store.update(ctx, &next, s.rev)
	if err != nil {
		return err
	}
	s.record, s.rev = next, rev
	return nil
}

// status publishes what the session does now, if that is something else.
func (s *Session) status(status eventbus.Status) {
	s.mu.Lock()
	same := s.shown == status
	s.shown = status
	s.mu.Unlock()
	if !same {
		s.publish(eventbus.StatusChange{Status: status})
	}
}

// publish hands an event to the stream. Where that fails the session is
// broken, and ends.
func (s *Session) publish(ev eventbus.Event) {
	s.note(s.publisher.Publish(s.background, ev))
}

// note takes an error of the store: the session can't go on.
func (s *Session) note(err error) {
	if err == nil || errors.Is(err, ErrEnded) {
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
	ctx, cancel := context.WithTimeout(s.background, storeTimeout)
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
