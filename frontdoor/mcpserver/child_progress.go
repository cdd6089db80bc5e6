package mcpserver

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/live"
)

// maxMessages bounds the messages that are kept for a slow reader. Older ones are dropped: the
// stream has them, and progress is for people who watch.
const maxMessages = 64

// progressTracker has the progress of the children of a root session, by their session ids.
type progressTracker struct {
	tree live.Tree // of the goroutine that calls event

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

// event adds the next event of the root's stream to the progress of the child that it is of, or
// below. It returns the call or question that waits from then on; nil means that none does. What
// can't be decoded is ignored: progress must not fail a call.
func (t *progressTracker) event(d eventbus.Delivery) (f *childProgress, waits *live.Question) {
	e, err := live.Decode("", d.Raw, d.Time, d.Seq)
	if err != nil || len(e.Path) < 2 {
		return nil, nil
	}
	child := e.Path[1].SessionID
	f = t.of(child)
	s := t.tree.Apply(e)
	if s == nil {
		return f, nil
	}
	f.say(describe(s, e.Event))
	switch ev := e.Event.(type) {
	case event.ToolApprovalRequired, event.QuestionAsked:
		if q := s.Questions[len(s.Questions)-1]; q.Since.Equal(e.Time) { // one that comes again is known
			return f, &q
		}
	case event.ToolApprovalResolved:
		f.withdraw(ev.ApprovalID)
	case event.QuestionAnswered:
		f.withdraw(ev.QuestionID)
	case event.SessionEnd:
		if s.ID == child { // its last event
			for _, below := range t.tree.Below(child) {
				t.tree.Remove(below.ID)
			}
			t.forget(child)
		}
	}
	return f, nil
}

// forget drops a child's progress at the second call: one comes with its last event, one from
// its last reader.
func (t *progressTracker) forget(sessionID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.byID[sessionID]; f != nil {
		if f.forgets++; f.forgets == 2 {
			delete(t.byID, sessionID)
		}
	}
}

// childProgress is the progress of one child. Several calls may read it at once.
type childProgress struct {
	forgets int // calls of forget; guarded by progressTracker.mu

	mu        sync.Mutex
	messages  []string // the newest last
	n         int      // how many there were in all
	questions []*question
	also      []*childProgress // joined ones, which hear the same
	changed   chan struct{}    // closed at the next change
}

// state is a child's progress at one moment.
type state struct {
	messages  []string // after what the reader had, the newest last
	n         int      // what the reader has now
	questions []*question
	changed   <-chan struct{} // closed at the next change
}

// since returns the state for a reader that has n.
func (f *childProgress) since(n int) state {
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := min(f.n-n, len(f.messages))
	return state{slices.Clone(f.messages[len(f.messages)-missing:]), f.n, slices.Clone(f.questions), f.changed}
}

// last returns the last message, empty if there is none, and n for a reader that
// has all before it.
func (f *childProgress) last() (message string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.messages) == 0 {
		return "", 0
	}
	return f.messages[len(f.messages)-1], f.n - 1
}

func (f *childProgress) say(text string) {
	if text == "" {
		return
	}
	f.change(func() {
		f.n++
		if f.messages = append(f.messages, text); len(f.messages) > maxMessages {
			f.messages = slices.Delete(f.messages, 0, 1)
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
	if q := f.remove(id); q != nil {
		close(q.over)
	}
}

// remove removes a question, also from the joined progress, and returns it.
func (f *childProgress) remove(id string) (q *question) {
	f.change(func() {
		if i := slices.IndexFunc(f.questions, func(q *question) bool { return q.id == id }); i >= 0 {
			q = f.questions[i]
			f.questions = slices.Delete(f.questions, i, i+1)
		}
		for _, other := range f.also {
			other.remove(id)
		}
	})
	return q
}

// join returns the progress of several children as one. It begins with the
// last message of each, and ends when part is called.
func join(parts []*childProgress) (joined *childProgress, part func()) {
	joined = &childProgress{changed: make(chan struct{})}
	for _, f := range parts {
		f.mu.Lock()
		f.also = append(slices.Clip(f.also), joined)
		if len(f.messages) > 0 {
			joined.say(f.messages[len(f.messages)-1])
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

// describe returns a message about what an event has changed in a session. It begins with the
// agents from the child down. Empty means the event is not worth a message.
func describe(s *live.Session, ev event.Event) string {
	what := ""
	switch ev.(type) {
	case event.StatusChange:
		switch {
		case s.Retry != nil:
			what = s.Retry.Summary()
		case !s.Activity.Waiting(): // its question says more
			what = s.Activity.Words()
		}
	case event.ToolCallStart:
		call := s.Calls[len(s.Calls)-1]
		what = fmt.Sprintf("step %d: %s", call.Step, call.Summary)
	case event.QuestionAsked:
		q := s.Questions[len(s.Questions)-1]
		what = fmt.Sprintf("waits for 'worker approvals answer %s ANSWER': %q", q.ApprovalID, q.Ask.Summary())
	case event.ToolApprovalRequired:
		q := s.Questions[len(s.Questions)-1]
		what = fmt.Sprintf("waits for 'worker approvals approve %s': %s", q.ApprovalID, q.Summary())
	case event.Error:
		what = "error: " + s.Error
	}
	if what == "" {
		return ""
	}
	var agents []string
	for _, hop := range s.Path[1:] {
		agents = append(agents, hop.AgentType)
	}
	return termtext.OneLine(strings.Join(agents, " > ")+": "+what, termtext.MaxMessage)
}
