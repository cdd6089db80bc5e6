package mcpserver

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/agentworker/worker/eventbus/event"
)

// maxSaid bounds what a feed keeps for a reader that is slow. More is dropped:
// the stream has it, and progress is for people who look on.
const maxSaid = 64

// feeds has what the stream of a root session tells of its children, by the
// child's session id.
type feeds struct {
	mu   sync.Mutex
	byID map[string]*feed
}

func newFeeds() *feeds { return &feeds{byID: make(map[string]*feed)} }

// of returns the feed of a child, of which nothing may have been heard yet.
func (t *feeds) of(sessionID string) *feed {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.byID[sessionID]
	if f == nil {
		f = &feed{changed: make(chan struct{})}
		t.byID[sessionID] = f
	}
	return f
}

// event takes the next event of the root's stream, and returns what has to be
// asked because of it; nil: nothing. What can't be decoded is passed over:
// progress is not the place to fail.
func (t *feeds) event(raw json.RawMessage) (f *feed, required *event.ToolApprovalRequired) {
	env, ev := unwrap(raw)
	if env == nil {
		return nil, nil
	}
	f = t.of(env.SessionID)
	f.say(describe(env.AgentType, ev))
	switch inner := innermost(ev).(type) {
	case event.ToolApprovalRequired:
		return f, &inner
	case event.ToolApprovalResolved:
		f.withdraw(inner.ApprovalID)
	}
	if _, over := ev.(event.SessionEnd); over { // its last event
		t.drop(env.SessionID, func(f *feed) { f.ended = true })
	}
	return f, nil
}

// unwrap returns the envelope of a child's event, and that event; nil: raw is
// none.
func unwrap(raw json.RawMessage) (*event.SubagentEvent, event.Event) {
	outer, err := event.Decode(raw)
	env, ok := outer.(event.SubagentEvent)
	if err != nil || !ok {
		return nil, nil
	}
	ev, err := event.Decode(env.Event)
	if err != nil {
		return nil, nil
	}
	return &env, ev
}

// innermost returns what a child, or one below it, has published.
func innermost(ev event.Event) event.Event {
	for {
		env, ok := ev.(event.SubagentEvent)
		if !ok {
			return ev
		}
		inner, err := event.Decode(env.Event)
		if err != nil {
			return ev
		}
		ev = inner
	}
}

// forget drops a child's feed once its last event has been seen.
func (t *feeds) forget(sessionID string) {
	t.drop(sessionID, func(f *feed) { f.left = true })
}

// drop marks a feed, and drops it when both marks are there.
func (t *feeds) drop(sessionID string, mark func(*feed)) {
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

// feed is what is heard of one child. Several calls may read it at once.
type feed struct {
	left, ended bool // held by feeds: nobody will read it; nothing more will come

	mu        sync.Mutex
	said      []string // the newest last
	n         int      // how many there have been
	questions []*question
	also      []*feed       // what hears the same
	changed   chan struct{} // closed at the next change
}

// state is a feed as it is at one moment.
type state struct {
	said      []string // since what the reader had, the newest last
	n         int      // what the reader has now
	questions []*question
	changed   <-chan struct{} // closed when it is another
}

// since returns the state for a reader that has n.
func (f *feed) since(n int) state {
	f.mu.Lock()
	defer f.mu.Unlock()
	missing := min(f.n-n, len(f.said))
	return state{slices.Clone(f.said[len(f.said)-missing:]), f.n, slices.Clone(f.questions), f.changed}
}

// last returns what was said last, empty if nothing was, and n for a reader that
// lacks no more than that.
func (f *feed) last() (said string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.said) == 0 {
		return "", 0
	}
	return f.said[len(f.said)-1], f.n - 1
}

func (f *feed) say(text string) {
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
func (f *feed) ask(q *question) {
	f.change(func() {
		f.questions = append(f.questions, q)
		for _, other := range f.also {
			other.ask(q)
		}
	})
}

// withdraw ends a question, if there is one of that id.
func (f *feed) withdraw(id string) {
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

// lose is withdraw for a feed that has heard a question from another one.
func (f *feed) lose(id string) {
	f.change(func() {
		f.questions = slices.DeleteFunc(f.questions, func(q *question) bool { return q.id == id })
	})
}

// join returns a feed that hears what these hear, from what each has said last
// on, until part is called.
func join(feeds []*feed) (joined *feed, part func()) {
	joined = &feed{changed: make(chan struct{})}
	for _, f := range feeds {
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
		for _, f := range feeds {
			f.mu.Lock()
			f.also = slices.DeleteFunc(slices.Clone(f.also), func(other *feed) bool { return other == joined })
			f.mu.Unlock()
		}
	}
}

func (f *feed) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}
