package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/inbox"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/toolcall"
	"github.com/agentworker/worker/tool"
)

// turn is one turn of a session, from [Session.newTurn] to the end of run or release. One
// goroutine uses it at a time. Only leave may be called meanwhile: mu guards leaves.
type turn struct {
	s      *Session
	bond   *lifetime.Bond
	prompt string
	shown  []picture.Attachment // with the prompt
	before *before              // of a turn that another process has begun; nil means it begins here

	mu     sync.Mutex
	leaves func() bool // ends what endWith began; nil means it has not begun

	started bool
	inTime  func() // ends the watch over the budget's time
	call    modelCall
	err     error  // of start
	next    string // the id of the model's next message

	corrections int              // answers that were not accepted
	repairs     int              // answers whose checks failed
	earlier     []string         // answers that a message came after
	reminded    bool             // that an answer has to have text
	goesOn      bool             // a hook has wanted the agent to go on after an answer
	uncompacted bool             // a hook has kept the conversation from being compacted
	partial     string           // the model's last text
	stop        model.StopReason // of its last answer
	final       bool             // which was the one for which its steps were used up
	out         Outcome          // once it is over
}

// newTurn returns a turn, which the caller runs or releases. before is what another process has
// done of it; nil means nothing.
func (s *Session) newTurn(ctx context.Context, prompt string, shown []picture.Attachment, before *before) *turn {
	bond := s.life.Bind(ctx)
	return &turn{s: s, bond: bond, prompt: prompt, shown: shown, before: before, call: modelCall{s: s, bond: bond}}
}

// context ends with that of newTurn, when the session is stopped, and when the turn is over.
func (t *turn) context() context.Context { return t.bond.Context() }

// endWith has the turn end with ctx, too, until leave is called.
func (t *turn) endWith(ctx context.Context) {
	if ctx.Err() != nil {
		t.bond.Cancel(context.Cause(ctx))
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaves = context.AfterFunc(ctx, func() { t.bond.Cancel(context.Cause(ctx)) })
}

// leave ends what endWith began, and reports whether it was in time.
func (t *turn) leave() bool {
	t.mu.Lock()
	leaves := t.leaves
	t.leaves = nil
	t.mu.Unlock()
	return leaves == nil || leaves()
}

// release ends a turn that is not run.
func (t *turn) release() {
	t.leave()
	t.bond.Release()
}

// watch returns the watch over the turn's events; nil means there is none.
func (t *turn) watch() *lifetime.Watch {
	s := t.s
	limit, end := cmp.Or(s.stall.limit, s.stall.notice), t.bond.Cancel
	if limit == 0 {
		return nil
	}
	if s.stall.limit == 0 {
		end = nil
	}
	setStalled := func(stalled bool) { _ = s.log.Set(func(r *record.Record) { r.Stalled = stalled }) }
	return lifetime.NewWatch(limit, end, func(idle time.Duration) {
		setStalled(true)
		s.log.Publish(event.Stalled{IdleMs: idle.Milliseconds(), StopsInMs: s.stall.limit.Milliseconds()})
	}, func() { setStalled(false) })
}

// announce begins another message of the model.
func (t *turn) announce() {
	t.s.log.Status(event.StatusStreaming)
	t.next = record.NewID("msg")
}

// read adds messages to the conversation.
func (t *turn) read(messages []inbox.Message) {
	s := t.s
	for _, m := range messages {
		if m.Assignment != nil {
			s.Assign(*m.Assignment)
		}
		s.talk.Tell(m.Text, m.Images...)
		s.logMessage(m)
	}
}

// withheld is what the model reads instead of a message that a hook denies.
const withheld = "A person has sent you a message here. A hook withholds it from you: go on with your task."

// judged has the hooks judge messages, as far as a person has written them to a session without a
// parent. What hooks add is added, and a message that one denies is withheld.
func (t *turn) judged(ctx context.Context, messages []inbox.Message) []inbox.Message {
	for i, m := range messages {
		if m.By == "" {
			continue
		}
		added, err := toolcall.HooksOf(t.s.calls).Prompt(ctx, m.Text)
		if err != nil {
			t.s.log.Warn(fmt.Sprintf("a message to the session is not read: %v", err))
			messages[i].Text, messages[i].Images = withheld, nil
			continue
		}
		messages[i].Text += added
	}
	return messages
}

// logMessage appends a message of the inbox to the log.
func (s *Session) logMessage(m inbox.Message) {
	if m.By != "" {
		s.AskedFor(m.By)
	}
	s.log.Append(log.MessageEntry(m.ID, m.Text, m.Images...))
}

// tell adds a message to the conversation that the session has for its model.
func (t *turn) tell(text string) { t.read([]inbox.Message{{ID: record.NewID("msg"), Text: text}}) }

// tellAbout tells the model what the workspace says about the files that its last calls have
// touched. Both are found in the conversation, so that a claimed session tells what its process
// had no time to.
func (t *turn) tellAbout() {
	s := t.s
	if s.agent.about == nil {
		return
	}
	var notes []conversation.Note
	for _, call := range s.talk.LastCalls() {
		for _, path := range touched(s.calls.Tools.Get(call.Name), call.Arguments) {
			notes = append(notes, s.agent.about(path)...)
		}
	}
	if text := s.talk.Notes(notes); text != "" {
		t.tell(text)
	}
}

// touched returns the paths of the workspace's files that a call reads or changes.
func touched(t tool.Tool, args string) (paths []string) {
	if t == nil || t.Spec().Delegates {
		return nil
	}
	prepared, err := tool.Prepare(t, json.RawMessage(args))
	if err != nil {
		return nil
	}
	values, err := prepared.Values()
	if err != nil {
		return nil
	}
	for _, v := range values {
		switch v.Tool {
		case toolcatalog.ReadFile, toolcatalog.WriteFile, toolcatalog.EditFile:
			if v.Certainty == permission.Certain && (v.Kind == permission.Wanted || v.Kind == permission.Mentioned) && filepath.IsLocal(v.Text) && !slices.Contains(paths, v.Text) {
				paths = append(paths, v.Text)
			}
		}
	}
	return paths
}

// Outcome is how a turn of a session ended.
type Outcome struct {
	Status record.Status // Completed, Failed, Cancelled or TimedOut
	Text   string        // the answer; empty unless Completed
	Err    error         // why; nil if Completed

	// Earlier are the answers before the last one that a message of a subagent in the
	// background came after.
	Earlier []string

	// Partial is the model's last text if the turn has not completed; empty means there is
	// none.
	Partial string

	// Stop says why the model's last answer ended; empty means it has given none.
	Stop model.StopReason

	Reason event.StopReason // why it ended; empty for failures that have none
}

// done is what was done of the turn before it came to this process.
func (t *turn) done() before {
	if t.before == nil {
		return before{}
	}
	return *t.before
}
