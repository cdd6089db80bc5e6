package session

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// Session is a session that runs in this process. Prompt and Call are its two
// ways to work; End ends it.
type Session struct {
	m *Manager
	identity
	behavior
	dialogue
	lifecycle
	progress
	questions
	beside beside
}

// identity says which session it is. It does not change.
type identity struct {
	parent *Session // nil means a root
	id     string
	agent  string // as which it began; empty means it stands for a caller
	path   event.Path
	trace  string // that it is part of: see [Spec.Traceparent]
}

// behavior says how the session works. It changes between two steps alone, in
// [Session.succeed]; mu guards the model of those that look beside it.
type behavior struct {
	system    string
	model     model.Model // of a caller: what it brings along; nil means nothing
	params    Params
	accept    func(answer string) (string, error) // nil means any answer
	checks    []Check
	tools     *gate.ToolSet
	allowed   []string // the tools that it and those below it may have at most; nil means all
	rules     gate.Rules
	maxSteps  int
	timeLimit time.Duration
	approver  gate.Approver
	resident  string               // the file that stands before the first prompt, relative to paths; empty means none does
	paths     permission.Workspace // what its tools' paths are relative to
	budget    Budget               // nil means none
	stall     time.Duration        // how long nothing may happen; 0 means as long as it may

	stallNotice time.Duration // after what time without an event that is told where stall is 0; 0 means it is not
}

// dialogue is what the model is sent. The running turn alone touches it.
type dialogue struct {
	messages []model.Message
	promptID string // of the first prompt; empty means a new one
	callIDs  map[string]bool
	task     int // which message is the prompt of the turn

	router       Router           // picks the model before the first call; nil means it has one
	residentOpen bool             // the resident file was looked at
	compaction   *Helper          // nil means it is never compacted
	window       int64            // tokens of the model's context window; 0 means not asked for yet, below: not known
	asked        []model.ToolSpec // what the last call told of tools
	inherited    []model.ToolSpec // the same in each call; nil means what there is at the time
	counted      conversation.Counted
}

// lifecycle says until when the session works.
type lifecycle struct {
	lasting    bool              // its caller makes call after call: who stops it ends it
	caller     context.Context   // of Open: of a root, it ends when nobody waits any more
	background context.Context   // of what must be stored, cancelled or not
	life       lifetime.Lifetime // ends when the session is stopped, or has ended
	done       chan struct{}     // closed when End has returned
	taken      atomic.Bool       // another process has ended it, or goes on with it
	before     before            // what was done of it then

	mover Mover  // nil means no call waits for its end
	child *Child // the same

	watched lifetime.Watched
}

// progress is how far the session has come. mu guards it.
type progress struct {
	workMu    sync.Mutex // held while what a call has done is published and noted; before mu
	mu        sync.Mutex
	active    int           // calls of a caller that run now
	idle      chan struct{} // closed when none does any more; nil means nobody waits for that
	publisher *eventbus.Publisher
	ending    bool // End has been called
	record    store.Record
	clock     *lifetime.Clock // nil means no turn has begun
	extra     time.Duration   // that its turns have besides the time limit
	shown     event.Status
	todo      event.Todo // that the session has noted
	plan      event.Plan
	next      *successor // the agent after the step that runs; nil means the same
	broken    error      // why the session can't go on: its store failed
}

// questions counts the calls that wait for an approval. waitMu guards it.
type questions struct {
	waitMu     sync.Mutex
	waiting    int
	resumeTime func()
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Agent returns the agent's name, which [Session.GoOnAs] changes; empty means the session
// stands for a caller.
func (s *Session) Agent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Agent
}

// Done returns a channel that is closed when End has returned.
func (s *Session) Done() <-chan struct{} { return s.done }

// Path returns the way from the root session to this one.
func (s *Session) Path() event.Path { return s.path }

// Record returns a copy of the session's record.
func (s *Session) Record() store.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// SetWorktree notes what has become of the session's worktree.
func (s *Session) SetWorktree(w store.Worktree) error {
	return s.change(func(r *store.Record) error {
		r.Worktree = &w
		return nil
	})
}

// SetEvidence notes the places that the session's answer names.
func (s *Session) SetEvidence(evidence []store.Evidence) error {
	return s.change(func(r *store.Record) error {
		r.Work.Evidence = evidence
		return nil
	})
}

// Root returns the folder that paths of the session's tools are relative to.
func (s *Session) Root() string { return s.paths.Root }

// Readable reports whether the rules let the session read the file at path, which is
// slash-separated and relative to Root.
func (s *Session) Readable(path string) bool { return s.readable("read_file")(path) }

// Call makes one tool call on behalf of the caller that a root session stands
// for, through the gate like any other. Calls may run at once.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (CallResult, error) {
	return s.Do(ctx, name, args, nil)
}

// Do is [Session.Call] for a call that the caller has prepared: args is how
// people see it. With nil it is prepared from args.
func (s *Session) Do(ctx context.Context, name string, args json.RawMessage, prepared tool.Prepared) (CallResult, error) {
	inv := &invocation{
		ToolCall:  model.ToolCall{ID: store.NewID("call"), Name: name, Arguments: string(args)},
		messageID: store.NewID("msg"),
		prepared:  prepared,
		callers:   true,
	}
	if err := s.begin(); err != nil {
		return CallResult{}, err
	}
	ctx, release := s.Bound(ctx)
	defer release()
	if err := s.announce(inv); err != nil {
		s.finish()
		return CallResult{}, err
	}
	s.invoke(ctx, inv)
	return inv.res, s.brokenBy()
}

// answered ends a call of a caller, whose outcome is announced.
func (s *Session) answered(inv *invocation) {
	s.publish(event.TurnComplete{Message: event.TurnMessage{ID: store.ResultsID(inv.messageID), Text: inv.res.Text}})
	if s.finish() {
		s.status(event.StatusIdle)
	}
}

// announce publishes a call of a caller as a step of the session.
func (s *Session) announce(inv *invocation) error {
	var step int
	err := s.change(func(r *store.Record) error {
		r.Steps++
		step = r.Steps
		return r.Transition(store.Running, nil, time.Now().UTC())
	})
	if err != nil {
		return err
	}
	s.status(event.StatusExecutingTool)
	s.publishStarts([]*invocation{inv}, step)
	return nil
}

// become changes the session's state.
func (s *Session) become(to store.Status, why error) error {
	return s.change(func(r *store.Record) error { return r.Transition(to, why, time.Now().UTC()) })
}

// change changes the record. Others see that a little later: see [store.Index].
func (s *Session) change(f func(*store.Record) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken.Load() {
		return &TakenError{s.id, s.record.Status}
	}
	next := s.record
	if err := f(&next); err != nil {
		return err
	}
	s.record = next
	if !s.ending { // then its end is written
		s.m.index.Put(indexed{s}, &next)
	}
	return nil
}

// index has the record written as it is now. s.mu is held.
func (s *Session) index() {
	r := s.record
	s.m.index.Put(indexed{s}, &r)
}
