package tui

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// TestReply: the same keys mean the same everywhere, and "a" means nothing.
func TestReply(t *testing.T) {
	for line, want := range map[string]Reply{
		"y": {Answer: approval.Answer{Verdict: approval.ApproveOnce}}, " Yes ": {Answer: approval.Answer{Verdict: approval.ApproveOnce}},
		"A": {Answer: approval.Answer{Verdict: approval.ApproveAlways}}, "always": {Answer: approval.Answer{Verdict: approval.ApproveAlways}},
		"n": {}, "n  not that file ": {Answer: approval.Answer{Feedback: "not that file"}}, "v": {View: true},
	} {
		if got, ok := ParseReply(line); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q means %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "a", "d", "ok", "yy"} {
		if got, ok := ParseReply(line); ok {
			t.Errorf("%q means %+v", line, got)
		}
	}
}

// TestWriteQuestion: what a door can't show is said, and there is no "always" then.
func TestWriteQuestion(t *testing.T) {
	a := &approval.Approval{
		ID: "apr_1", Agent: "writer", Tool: "write_file", Patterns: []string{"a.md"}, AlwaysPatterns: []string{"a.md"}, Reason: "A rule asks.",
		Question: event.Question{Title: "create a.md", Parts: []event.QuestionPart{{Name: "text", Form: "text", Text: strings.Repeat("line\n", 500) + "last\n"}}},
	}
	for door, shown := range map[*question.Door]bool{&question.Terminal: false, &question.Whole: true} {
		var b strings.Builder
		always, whole := WriteQuestion(&b, a, *door, QuestionWidth)
		if always != shown || whole != shown || !strings.Contains(b.String(), "    last\n") || strings.Contains(b.String(), "worker approvals show apr_1") == shown {
			t.Errorf("%s: always %v, whole %v:\n%s", door.Name, always, whole, b.String())
		}
	}
}
