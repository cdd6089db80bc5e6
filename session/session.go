package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/hidden"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/notes"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/toolcall"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/commands"
)

// Session is a session that runs in this process. Prompt and Call are its two ways to work;
// End ends it. It composes parts with a lock each. All of them write the log, and they know
// nothing else of each other.
type Session struct {
	p      *process
	parent *Session // nil means a root

	id     string
	path   event.Path
	caller bool // it is a caller's session, without a model of its own

	life  *lifetime.Life             // until when it works
	log   *journal.Journal           // its log and its record
	agent agent                      // how it works
	talk  *conversation.Conversation // what the model is sent
	inbox *inbox.Inbox               // messages to the model, and work in the background
	calls *toolcall.Calls            // tool calls, the gate before them, and questions
	usage usage                      // what it uses, and may use
	notes notes.Noted                // what its model has noted

	hidden *hidden.View // credentials as its model reads them; nil hides none

	commands *commands.Commands // that go on in its background

	first      firstPrompt
	before     before // what was done before this process resumed it
	compaction *Helper
	stall      stallLimits

	lasting  bool                  // its caller makes call after call: whoever stops it ends it
	callsMu  sync.Mutex            // held while a call of a caller begins or ends, and its status is published
	allowed  []string              // the tools that it and those below it may have at most; nil means all
	resident string                // the file before the first prompt, relative to the paths of its calls; empty means none
	move     func(by string) error // to the background, if a task call waits for it; else nil
	held     atomic.Bool           // it waits to be handed over: see [Manager.HandOver]
	done     chan struct{}
}

// stallLimits say how long a session may have no event.
type stallLimits struct {
	limit  time.Duration // then it has stalled, and after as long again it is stopped; 0 means it is not
	notice time.Duration // then it has stalled, where limit is 0; 0 means never
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Path returns the path from the root session to this one.
func (s *Session) Path() event.Path { return s.path }

// Parent returns the session above; nil means it is a root.
func (s *Session) Parent() *Session { return s.parent }

// Done returns a channel that is closed when End has returned.
func (s *Session) Done() <-chan struct{} { return s.done }

// Agent returns the agent's name, which [Session.Become] changes; empty means that it is a
// caller's session.
func (s *Session) Agent() string { return s.log.Agent() }

// Record returns a copy of the session's record.
func (s *Session) Record() record.Record { return s.log.Record() }

// Budget returns what bounds the session: its own budget, or that of a session above; nil
// means nothing does.
func (s *Session) Budget() Budget { return s.usage.budget }

// Root returns the folder that paths of the session's tools are relative to.
func (s *Session) Root() string { return s.calls.Paths.Root }

// Readable reports whether the rules let the session read the file at path, which is
// slash-separated and relative to Root.
func (s *Session) Readable(path string) bool { return s.calls.ReadableFile(path) }

// Denied returns why the rules deny the session a value, whoever is asked; nil means they
// don't.
func (s *Session) Denied(value permission.Value) error { return s.calls.Denied(value) }

// SetWorktree notes what has become of the session's worktree.
func (s *Session) SetWorktree(w record.Worktree) error {
	return s.log.Set(func(r *record.Record) { r.Worktree = &w })
}

// SetEvidence notes the places that the session's answer names.
func (s *Session) SetEvidence(evidence []record.Evidence) error {
	return s.log.Set(func(r *record.Record) { r.Work.Evidence = evidence })
}

// StateText is the plan and the todos that the session has noted, as a model reads them. Empty
// means that it has noted nothing.
func (s *Session) StateText() string { return s.notes.Text() }

// AwaitStored waits until all that the session has published is stored. Whoever hears of the
// session then finds it, even if this process dies.
func (s *Session) AwaitStored(ctx context.Context) error { return s.log.Flush(ctx) }

// Settle publishes after a turn that the session waits for its next prompt. It returns the
// sequence number of that event once it is stored, with all that the turn has published.
// The session must not end meanwhile.
func (s *Session) Settle(ctx context.Context) (seq uint64, err error) { return s.log.Settle(ctx) }

// Bound returns a context that ends with ctx, and when the session is stopped.
func (s *Session) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	b := s.life.Bind(ctx)
	return b.Context(), b.Release
}

// CallResult is the outcome of a tool call.
type CallResult = toolcall.Result

// Call makes one tool call for the caller of a root session, through the gate like any other.
// Calls may run at once.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (CallResult, error) {
	return s.Do(ctx, name, args, nil)
}

// Do is [Session.Call] for a call that the caller has prepared: people are shown args. A nil
// prepared is prepared from args.
func (s *Session) Do(ctx context.Context, name string, args json.RawMessage, prepared tool.Prepared) (CallResult, error) {
	call := &toolcall.Call{
		ToolCall:  model.ToolCall{ID: record.NewID("call"), Name: name, Arguments: string(args)},
		MessageID: record.NewID("msg"),
		Prepared:  prepared,
	}
	call.Answered = func() { s.answered(call) }
	if err := s.beginCall(call); err != nil {
		return CallResult{}, err
	}
	ctx, release := s.Bound(ctx)
	defer release()
	s.calls.Make(ctx, call)
	return call.Result(), s.log.Err()
}

// beginCall publishes a call of a caller as a step of the session.
func (s *Session) beginCall(call *toolcall.Call) error {
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	if err := s.enterCall(); err != nil {
		return err
	}
	var step int
	err := s.log.Update(func(r *record.Record) error {
		r.Steps++
		step = r.Steps
		return r.Transition(record.Running, nil, time.Now().UTC())
	})
	if err != nil {
		s.life.EndCall()
		return err
	}
	s.log.Status(event.StatusExecutingTool)
	s.calls.PublishStarts([]*toolcall.Call{call}, step)
	return nil
}

// answered ends a call of a caller, whose outcome is published.
func (s *Session) answered(call *toolcall.Call) {
	s.log.Publish(event.TurnComplete{Message: event.TurnMessage{ID: log.ResultsID(call.MessageID), Text: call.Result().Text}})
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	if s.life.EndCall() {
		s.log.Status(event.StatusIdle)
	}
}

func (s *Session) enterCall() error {
	if err := s.life.BeginCall(); err != nil {
		return fmt.Errorf("session %s takes no more calls: %w", s.id, err)
	}
	return nil
}

// Assign notes that the session has another task or role. Its model gets a message about it.
func (s *Session) Assign(a requests.Assignment) {
	s.log.Publish(a.Event())
	_ = s.log.Set(func(r *record.Record) { r.Assign(a.Event()) })
}

// AskedFor notes that somebody asks for work of the session, before its model reads the
// message. The note is on its way to the store when AskedFor returns.
func (s *Session) AskedFor(by record.Person) {
	if by == record.NoPerson || slices.Contains(s.Record().AskedBy, by) {
		return
	}
	s.log.Append(log.AskedEntry(by))
	_ = s.log.Set(func(r *record.Record) { r.AskedBy = record.AddPerson(r.AskedBy, by) })
}

// firstPrompt is what a session's first turn does before its first model call.
type firstPrompt struct {
	id     string // of the prompt; empty means a new one
	router Router // picks the model; nil means the session has one
	opened bool   // the resident file was looked at
	told   bool   // the hooks know that the session has begun
}

// before is what was done of a session before this process claimed it.
type before struct {
	steps  int
	worked time.Duration
	answer *string   // the result of its turn; nil means that the turn goes on
	step   *log.Step // in which it was cut off; nil means in none

	calls map[string]tool.Tool // the rest of calls of that step, by their ids: they are not made anew
}
