package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// Summary names the tool of a call and what the call is about, in one line for
// people.
func (e ToolCallStart) Summary() string { return summary(e.ToolName, e.Arguments) }

// Summary says what the waiting call would do, in one line for people.
func (e ToolApprovalRequired) Summary() string { return e.Question.Summary() }

// Summary says why a model call waits and for how long, in one line for people:
// "rate limited, waits 43 s for try 2 of 3".
func (r Retry) Summary() string {
	return fmt.Sprintf("%s, waits %d s for try %d of %d", r.why(), seconds(r.delay()), r.Try, r.Tries)
}

// SummaryAfter is Summary for a later moment, age after the event: "rate limited,
// next try in 12 s, 2 of 3", and then "rate limited, try 2 of 3".
func (r Retry) SummaryAfter(age time.Duration) string {
	if left := r.delay() - age; left > 0 {
		return fmt.Sprintf("%s, next try in %d s, %d of %d", r.why(), seconds(left), r.Try, r.Tries)
	}
	if r.Tries == 0 {
		return r.why()
	}
	return fmt.Sprintf("%s, try %d of %d", r.why(), r.Try, r.Tries)
}

func (r Retry) why() string {
	switch r.Reason {
	case "unavailable":
		return "no answer"
	case RetryReasoning:
		return "the text so far was the model's thinking"
	}
	return strings.ReplaceAll(termtext.OneLine(r.Reason, termtext.MaxColumn), "_", " ")
}

func (r Retry) delay() time.Duration { return time.Duration(r.DelayMs) * time.Millisecond }

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Summary says which agents were added, changed and removed, in one line for
// people.
func (e AgentsChanged) Summary() string {
	var b strings.Builder
	b.WriteString("agents changed:")
	for _, group := range []struct {
		sign  string
		names []string
	}{{"+", e.Added}, {"~", e.Changed}, {"-", e.Removed}} {
		for _, name := range group.names {
			b.WriteString(" " + group.sign + termtext.OneLine(name, termtext.MaxName))
			if b.Len() > 300 {
				b.WriteString(" …")
				break
			}
		}
	}
	failed := 0
	for _, d := range e.Diagnostics {
		var finding struct{ Severity string }
		if json.Unmarshal(d, &finding) == nil && finding.Severity == "error" {
			failed++
		}
	}
	fmt.Fprintf(&b, " (version %d, %s", e.Version, termtext.Plural(len(e.Agents), "agent"))
	if failed > 0 {
		b.WriteString(", " + termtext.Plural(failed, "error"))
	}
	return b.String() + ")"
}

// summary shows the arguments that say what a call is about, for any tool.
func summary(tool, arguments string) string {
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return termtext.OneLine(tool, termtext.MaxName)
	}
	parts := []string{termtext.OneLine(tool, termtext.MaxName)}
	if patch, ok := args["input"].(string); ok && tool == toolcatalog.ApplyPatch {
		parts = append(parts, termtext.OneLine(strings.Join(toolcatalog.PatchPaths(patch), " "), termtext.MaxName))
	}
	for _, name := range []string{"agentType", "description", "command", "pattern", "path", "question"} {
		if v, ok := args[name].(string); ok && v != "" {
			parts = append(parts, termtext.OneLine(v, termtext.MaxName))
		}
	}
	return strings.Join(parts, " ")
}

// Summary says in a line how much of a budget is used.
func (ev Budget) Summary() string {
	used := "used"
	if ev.Percent >= 100 {
		used = "used: that is all"
	}
	return fmt.Sprintf("budget: %s of %s %s %s (set by %s)", ev.Used, ev.Max, ev.Limit, used, ev.SetBy)
}
