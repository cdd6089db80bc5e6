package live

import (
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

var start = time.Unix(1000, 0)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// pathOf is a path that is written as ids with slashes.
func pathOf(ids string) (path event.Path) {
	for id := range strings.SplitSeq(ids, "/") {
		path = append(path, event.Hop{SessionID: id})
	}
	return path
}

// shown is the rows in a line each.
func shown(t *Tree, ended bool) string {
	var b strings.Builder
	for _, r := range t.Rows(ended) {
		b.WriteString(r.Branch + r.ID + " " + r.State())
		if doing := r.Doing(); doing != "" {
			b.WriteString(": " + doing)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestTree: what events and lists say shows, in the order of what needs somebody.
func TestTree(t *testing.T) {
	tree := &Tree{}
	tell := func(seconds int, path string, ev event.Event) {
		tree.Apply(Event{Path: pathOf(path), Event: ev, Time: at(seconds)})
	}
	sees := func(ended bool, want string) {
		t.Helper()
		if got := shown(tree, ended); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	tell(0, "a", event.SessionStart{AgentType: "lead"})
	tell(1, "a", event.StatusChange{Status: event.StatusStreaming})
	tell(2, "a/b", event.SessionStart{AgentType: "explore", Model: "m"})
	tell(3, "a/b", event.StatusChange{Status: event.StatusExecutingTool})
	tell(3, "a/b", event.ToolCallStart{ToolCallID: "1", ToolName: "grep", Arguments: `{"pattern":"x"}`})
	tell(4, "a/c", event.SessionStart{AgentType: "general"})
	tell(5, "d", event.SessionStart{})
	sees(true, "d queued\na running\n├ c queued\n└ b running: grep x\n")

	tell(6, "a/b", event.ToolCallStart{ToolCallID: "2", ToolName: "list_dir"})
	tell(7, "a/b", event.Stalled{})
	tell(8, "d", event.SessionEnd{Status: "completed"})
	sees(true, "a running\n├ b stalled: grep x, and 1 more\n└ c queued\nd completed\n")
	sees(false, "a running\n├ b stalled: grep x, and 1 more\n└ c queued\n")

	tell(9, "a/b", event.ToolCallEnd{ToolCallID: "1"}) // it is not stalled any more
	tell(9, "a/c", event.ToolApprovalRequired{ApprovalID: "apr", ToolName: "shell_exec", Question: event.Question{Title: "run a command", Parts: []event.QuestionPart{{Name: "command", Form: event.FormCommand, Text: "rm x"}}}})
	sees(false, "a running\n├ c approval: run rm x\n└ b running: list_dir\n")
	tell(10, "a/c", event.ToolApprovalResolved{ApprovalID: "apr"})
	tell(10, "a/c", event.Budget{Percent: 100})
	sees(false, "a running\n├ c over budget\n└ b running: list_dir\n")
	tell(11, "a/c/e", event.StatusChange{Status: event.StatusPaused, Pause: &event.Pause{Until: at(99), Reason: "limit\x1b[2J"}})
	sees(false, "a running\n├ c over budget\n│ └ e paused: until "+at(99).Format(time.TimeOnly)+": limit[2J\n└ b running: list_dir\n")

	// A list has what is stored, which is older than the events.
	usage := model.Usage{InputTokens: 5}
	tell(12, "a/b", event.Usage{InputTokens: 7})
	tell(12, "a/b", event.SessionEnd{Status: "failed"})
	tree.List([]*record.Record{
		{ID: "a", Agent: "lead", Label: "all of it", Status: event.StatusRunning, Steps: 4, Usage: usage},
		{ID: "b", ParentID: "a", Status: event.StatusRunning, Steps: 0},
	})
	sees(true, "a running\n├ c over budget\n│ └ e paused: until "+at(99).Format(time.TimeOnly)+": limit[2J\n└ b failed\n")
	if a, b := tree.Get("a"), tree.Get("b"); a.Usage != usage || a.Label != "all of it" || b.Steps != 1 || b.Usage.InputTokens != 7 {
		t.Errorf("got %+v and %+v", a, b)
	}
	for _, r := range tree.Rows(true) { // each with those below it
		if got, want := [2]int{r.Subagents, int(r.Total.InputTokens)}, map[string][2]int{"a": {3, 12}, "b": {0, 7}, "c": {1, 0}}[r.ID]; got != want && r.ID != "e" {
			t.Errorf("%s: %d subagents and %d tokens in all, want %v", r.ID, got[0], got[1], want)
		}
	}
	tree.List([]*record.Record{{ID: "b", ParentID: "a", Status: event.StatusFailed}}) // a was deleted
	if tree.Get("a") != nil || tree.Get("c") == nil {
		t.Error("what a list lacks is kept, or what has only just begun is not")
	}
}
