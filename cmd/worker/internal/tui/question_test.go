package tui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/session/approval"
)

// The last of many texts, and the end of a long one, are shown.
func TestListShowsTheEnd(t *testing.T) {
	var texts []string
	for i := range 500 {
		texts = append(texts, fmt.Sprint("echo ", i))
	}
	for _, hides := range [][]string{append(texts, "rm x"), {strings.Repeat("a ", 10000) + "; rm x"}} {
		var out bytes.Buffer
		if writeTexts(&out, hides) {
			t.Errorf("%d texts are shown whole", len(hides))
		}
		if s := out.String(); !strings.Contains(s, "rm x\n") || !strings.Contains(s, "not all of it is shown") || len(s) > 8000 {
			t.Errorf("%d texts: %d bytes that end in %q", len(hides), len(s), s[max(0, len(s)-100):])
		}
	}
	var out bytes.Buffer
	if !writeTexts(&out, texts[:maxShownTexts]) || strings.Count(out.String(), "\n") != maxShownTexts {
		t.Errorf("%d texts are not shown whole:\n%s", maxShownTexts, out.String())
	}
}

// The question shows the whole line of a shell, what rules see of it, and what
// its variables are.
func TestWants(t *testing.T) {
	var out bytes.Buffer
	req := &approval.Approval{
		Tool: "shell_exec", Arguments: `{"command": "D=build; rm -rf $D\u202e"}`, Patterns: []string{"rm -rf $D   where D=build"},
	}
	if !writeWants(&out, req, QuestionWidth) || out.String() != "    D=build; rm -rf $D\\u{202e}\n  of which rules see\n    rm -rf $D   where D=build\n" {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	req.Arguments = `{"command": "` + strings.Repeat("echo x; ", 100) + `"}`
	if !writeWants(&out, req, QuestionWidth) || !strings.Contains(out.String(), "\n    ") || strings.Count(out.String(), "echo x;") < 90 {
		t.Errorf("a long line is not shown whole: %q", out.String())
	}
}

// Of a plan all lines are shown, and the agent that would carry it out.
func TestPlan(t *testing.T) {
	var out bytes.Buffer
	req := &approval.Approval{Tool: "plan_exit", Arguments: `{"plan": "1. write\n2. test\u202e\n"}`, Patterns: []string{"build"}}
	if want := "    1. write\n    2. test\\u{202e}\n  which is to be carried out by the agent\n    build\n"; !writeWants(&out, req, QuestionWidth) || out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
