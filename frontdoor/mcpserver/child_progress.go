package mcpserver

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// maxSaid bounds the messages kept for a slow reader. Older ones are dropped: the
// stream has them, and progress is for people who watch.
const maxSaid = 64

// progressTracker keeps what the stream of a root session tells of its children,
// by the child's session id.
type progressTracker struct {
	mu   sync.Mutex
	byID map[string]*childProgress
}

func newProgressTracker() *progressTracker {
	return &progressTracker{byID: make(map[string]*childProgress)}
}

// of returns the progress of a child, which may not have begun yet.
func (t *progressTracker) of(sessionID string) *childProgress {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.byID[sessionID]
	if f == nil {
		f = &childProgress{changed: make(chan struct{})}
		t.byID[sessionID] = f
	}
	return f
}

// event takes the next event of the root's stream, and returns the approval that
// it requires; nil means it requires no approval. It ignores what it can't decode: progress must not fail
// a call.
func (t *progressTracker) event(d eventbus.Delivery) (f *childProgress, required *event.ToolApprovalRequired) {
	around, ev, err := d.Event()
	if err != nil || len(around) == 0 {
		return nil, nil
	}
	child := around[0]
	f = t.of(child.SessionID)
	f.say(describe(around, ev))
	switch inner := ev.(type) {
	case event.ToolApprovalRequired:
		return f, &inner
	case event.ToolApprovalResolved:
		f.withdraw(inner.ApprovalID)
	}
	if _, over := ev.(event.SessionEnd); over && len(around) == 1 { // the child's last event
		t.drop(child.SessionID, func(f *childProgress) { f.ended = true })
	}
	return f, nil
}

// forget drops a child's progress once its last event has been seen.
func (t *progressTracker) forget(sessionID string) {
	t.drop(sessionID, func(f *childProgress) { f.left = true })
}

// drop marks a child's progress, and drops it once it has both marks.
func (t *progressTracker) drop(sessionID string, mark func(*childProgress)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.byID[sessionID]
	if f == nil {
		return
	}
	if mark(f); f.left && f.ended {
		delete(t.byID, sessionID)
	}
}

// childProgress is what the stream tells of one child. Several calls may read it
// at once.
type childProgress struct {
	left, ended bool // guarded by progressTracker.mu: nobody will read it; nothing more will come

	mu        sync.Mutex
	said      []string // the newest last
	n         int      // how many were said in all
	questions []*question
	also      []*childProgress // joined ones, which hear the same
	changed   chan struct{}    // closed at the next change
}

// state is a child's progress at one moment.
type state struct {
	said      []string // after what the reader had, the newest last
	n         int      // what the reader has now
	questions []*question
	changed   <-chan struct{} // closed at the next change
}

// since returns the state for a reader that has n.
func (f *childProgress) since(n int) state {
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := min(f.n-n, len(f.said))
	return state{slices.Clone(f.said[len(f.said)-missing:]), f.n, slices.Clone(f.questions), f.changed}
}

// last returns what was said last, empty if nothing was, and n for a reader that
// has all before it.
func (f *childProgress) last() (said string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.said) == 0 {
		return "", 0
	}
	return f.said[len(f.said)-1], f.n - 1
}

func (f *childProgress) say(text string) {
	if text == "" {
		return
	}
	f.change(func() {
		f.n++
		if f.said = append(f.said, text); len(f.said) > maxSaid {
			f.said = slices.Delete(f.said, 0, 1)
		}
		for _, other := range f.also {
			other.say(text)
		}
	})
}

// ask adds a question for the host, which waits until it is withdrawn.
func (f *childProgress) ask(q *question) {
	f.change(func() {
		f.questions = append(f.questions, q)
		for _, other := range f.also {
			other.ask(q)
		}
	})
}

// withdraw ends the question with that id, if there is one.
func (f *childProgress) withdraw(id string) {
	f.change(func() {
		f.questions = slices.DeleteFunc(f.questions, func(q *question) bool {
			if q.id != id {
				return false
			}
			close(q.over)
			return true
		})
		for _, other := range f.also {
			other.lose(id)
		}
	})
}

// lose is withdraw for a joined progress, whose question belongs to another one.
func (f *childProgress) lose(id string) {
	f.change(func() {
		f.questions = slices.DeleteFunc(f.questions, func(q *question) bool { return q.id == id })
	})
}

// join returns the progress of several children as one. It begins with what each
// said last, and ends when part is called.
func join(parts []*childProgress) (joined *childProgress, part func()) {
	joined = &childProgress{changed: make(chan struct{})}
	for _, f := range parts {
		f.mu.Lock()
		f.also = append(slices.Clip(f.also), joined)
		if len(f.said) > 0 {
			joined.say(f.said[len(f.said)-1])
		}
		for _, q := range f.questions {
			joined.ask(q)
		}
		f.mu.Unlock()
	}
	return joined, func() {
		for _, f := range parts {
			f.mu.Lock()
			f.also = slices.DeleteFunc(slices.Clone(f.also), func(other *childProgress) bool { return other == joined })
			f.mu.Unlock()
		}
	}
}

func (f *childProgress) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

// maxMessage bounds a progress message, in characters: hosts give it one line.
const maxMessage = 120

// describe tells in a few words what an agent does now, below the agents that have
// called it, or "" if the event is not worth a message.
func describe(around []event.SubagentEvent, ev event.Event) string {
	what := ""
	switch ev := ev.(type) {
	case event.StatusChange:
		switch {
		case ev.Retry != nil:
			what = ev.Retry.Summary()
		case ev.Status == event.StatusQueued:
			what = "queued"
		case ev.Status == event.StatusStreaming:
			what = "thinking"
		}
	case event.ToolCallStart:
		what = fmt.Sprintf("step %d: %s", ev.Step, ev.Summary())
	case event.ToolApprovalRequired:
		what = fmt.Sprintf("waits for 'worker approvals approve %s': %s", ev.ApprovalID, ev.Summary())
	case event.Error:
		what = "error: " + ev.Message
	}
	if what == "" {
		return ""
	}
	var agents []string
	for _, envelope := range around {
		agents = append(agents, envelope.AgentType)
	}
	return termtext.OneLine(strings.Join(agents, " > ")+": "+what, maxMessage)
}
