package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// message is one of a store: the session below "r" that it belongs to, or none.
type message struct {
	child string
	ev    event.Event
}

// whole is a root whose child does what a campaign's tasks do.
var whole = []message{
	{"", event.SessionStart{SessionID: "r"}},
	{"", event.ToolCallStart{ToolCallID: "call_1", ToolName: "task"}},
	{"c", event.SessionStart{SessionID: "c", ParentID: "r"}},
	{"c", event.ContentDelta{MessageID: "m", Delta: "one "}},
	{"c", event.ContentDelta{MessageID: "m", Delta: "two", Offset: 4}},
	{"c", event.TurnComplete{Message: event.TurnMessage{ID: "m", Text: "one two"}}},
	{"c", event.SessionEnd{Status: "completed"}},
	{"", event.ToolCallEnd{ToolCallID: "call_1", ToolName: "task"}},
	{"", event.SessionEnd{Status: "completed"}},
}

// keep returns the messages of these numbers, in this order.
func keep(numbers ...int) (some []message) {
	for _, n := range numbers {
		some = append(some, whole[n])
	}
	return some
}

func load(t *testing.T, messages []message) *stored {
	t.Helper()
	s := newStored()
	for i, m := range messages {
		body, err := event.Encode(m.ev)
		if err != nil {
			t.Fatal(err)
		}
		subject := []string{"r"}
		if m.child != "" {
			body = []byte(fmt.Sprintf(`{"type":"subagent_event","agentType":"scout","sessionId":%q,"event":%s}`, m.child, body))
			subject = append(subject, m.child)
		}
		s.add(uint64(2*i+1), append(subject, m.ev.Type()), body)
	}
	return s
}

// TestStored: each way in which what is stored can be wrong is noticed.
func TestStored(t *testing.T) {
	for _, tt := range []struct {
		what     string
		messages []message
		says     string // empty means nothing is wrong
	}{
		{"whole", whole, ""},
		{"cut off", whole[:5], ""},
		{"a delta is missing", keep(0, 1, 2, 4), "goes on at byte 4 of a text of 0"},
		{"the last delta is missing", keep(0, 1, 2, 3, 5), "have 4 bytes, the answer 7"},
		{"a delta is there twice", keep(0, 1, 2, 3, 3), "goes on at byte 0 of a text of 4"},
		{"two deltas are swapped", keep(0, 1, 2, 4, 3), "goes on at byte 4"},
		{"no start", keep(1), "event 1 is tool_call_start"},
		{"two starts", keep(0, 0), "its session_start came before: true"},
		{"two ends", keep(0, 8, 8), "behind its session_end"},
		{"the child behind its parent", keep(0, 2, 8, 6), "ends as completed (event 5) before its child c"},
		{"the child behind its parent that others have ended", []message{whole[0], whole[2], {"", event.SessionEnd{Status: "interrupted"}}}, "ends as interrupted (event 5) before its child c"},
		{"a child begins behind the end", keep(0, 8, 2), "begins (event 5) behind the end of its parent"},
		{"a child without a parent", keep(2), "before its parent r"},
		{"a tool call that does not end", keep(0, 1, 8), "its tool call call_1 has not ended"},
		{"a tool call that ends twice", keep(0, 1, 7, 7), "ends twice"},
		{"a tool call that begins twice", keep(0, 1, 1), "begins twice"},
	} {
		got := strings.Join(load(t, tt.messages).wrong, "\n")
		if tt.says == "" && got != "" || !strings.Contains(got, tt.says) {
			t.Errorf("%s: it says %q, want %q", tt.what, got, tt.says)
		}
	}
}

// TestCompare: each way in which a reader can be shown something else than what is
// stored is noticed.
func TestCompare(t *testing.T) {
	s := load(t, whole)
	all := s.roots["r"]
	unsummed := []seen{{seq: all[0].seq}}
	for _, tt := range []struct {
		what  string
		seen  []seen
		ended bool
		says  string
	}{
		{"all", all, true, ""},
		{"nothing", nil, false, ""},
		{"the first part", all[:4], false, ""},
		{"without sums", unsummed, false, ""},
		{"the first part as if it were all", all[:4], true, "was shown 4 of 9 events"},
		{"a hole", []seen{all[0], all[2]}, false, "was shown event 5 where 3 is stored"},
		{"not from the first", all[1:], true, "was shown event 3 where 1 is stored"},
		{"twice", []seen{all[0], all[1], all[1]}, false, "was shown event 3 twice"},
		{"swapped", []seen{all[0], all[2], all[1]}, false, "was shown event 5 where 3 is stored"},
		{"what is not stored", append(all[:len(all):len(all)], seen{seq: 99}), true, "event 99, which is not stored"},
		{"another content", []seen{{all[0].seq, 1}}, false, "another content"},
	} {
		err := s.compare(&call{root: "r", seen: tt.seen, ended: tt.ended})
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.says)
		}
	}
}

// TestSteadyBounds: what grows is told from what does not.
func TestSteadyBounds(t *testing.T) {
	const tasks = 5000
	for what, tt := range map[string]struct {
		cpu, rss float64 // times as much at the end
		kept     int     // sessions of a task
		broken   int
	}{
		"flat":                           {1, 1, 0, 0},
		"twice the time":                 {2, 1, 4, 1},
		"twice the memory":               {1, 2, 0, 1},
		"the memory of what is kept":     {1, 2, 4, 0},
		"more than that":                 {1, 3.5, 4, 1},
		"twice as much, nothing is kept": {2, 2, 0, 2},
	} {
		var windows []window
		for i := range 10 {
			cpu, rss := 1+(tt.cpu-1)*float64(i)/9, 1+(tt.rss-1)*float64(i)/9
			windows = append(windows, window{tasks, time.Duration(cpu * float64(10*time.Millisecond)), int64(rss * (200 << 20))})
		}
		r := new(run)
		r.steadyFigures(windows, tt.kept)
		if len(r.broken) != tt.broken {
			t.Errorf("%s: %v", what, r.broken)
		}
	}
}
