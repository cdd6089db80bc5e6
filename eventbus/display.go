package eventbus

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Summary names a call's tool and what it is about, in one line for people.
func (e ToolCallStart) Summary() string { return summary(e.ToolName, e.Arguments) }

// Summary names the call that waits and what it is about, in one line for
// people.
func (e ToolApprovalRequired) Summary() string { return summary(e.ToolName, e.Arguments) }

// Summary says in one line, for people, why a model call waits, and how long it
// does: "rate limited, waits 43 s for try 2 of 3".
func (r Retry) Summary() string {
	return fmt.Sprintf("%s, waits %d s for try %d of %d", r.why(), seconds(r.delay()), r.Try, r.Tries)
}

// SummaryAfter is Summary so long after the event: "rate limited, next try in
// 12 s, 2 of 3", and then "rate limited, try 2 of 3".
func (r Retry) SummaryAfter(age time.Duration) string {
	if left := r.delay() - age; left > 0 {
		return fmt.Sprintf("%s, next try in %d s, %d of %d", r.why(), seconds(left), r.Try, r.Tries)
	}
	return fmt.Sprintf("%s, try %d of %d", r.why(), r.Try, r.Tries)
}

func (r Retry) why() string {
	if r.Reason == "unavailable" {
		return "no answer"
	}
	return strings.ReplaceAll(OneLine(r.Reason, 40), "_", " ")
}

func (r Retry) delay() time.Duration { return time.Duration(r.DelayMs) * time.Millisecond }

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Summary says in one line, for people, what has become of which agents.
func (e AgentsChanged) Summary() string {
	var b strings.Builder
	b.WriteString("agents changed:")
	for _, group := range []struct {
		sign  string
		names []string
	}{{"+", e.Added}, {"~", e.Changed}, {"-", e.Removed}} {
		for _, name := range group.names {
			b.WriteString(" " + group.sign + OneLine(name, 60))
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
	fmt.Fprintf(&b, " (version %d, %s", e.Version, count(len(e.Agents), "agent"))
	if failed > 0 {
		b.WriteString(", " + count(failed, "error"))
	}
	return b.String() + ")"
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// summary shows the arguments that say what a call is about, whatever the tool.
func summary(tool, arguments string) string {
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return OneLine(tool, 60)
	}
	parts := []string{OneLine(tool, 60)}
	for _, name := range []string{"agentType", "description", "command", "pattern", "path"} {
		if v, ok := args[name].(string); ok && v != "" {
			parts = append(parts, OneLine(v, 60))
		}
	}
	return strings.Join(parts, " ")
}

// Printable takes from s what could move the cursor of a terminal or turn the
// direction of its text: control characters, but for line ends and tabs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unprintable(r) {
			return -1
		}
		return r
	}, s)
}

func unprintable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, // C0, DEL, C1
		r == 0x200e, r == 0x200f, r == 0x061c, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // direction
		r == 0x2028, r == 0x2029, // line ends
		r == 0xfeff: // byte order mark
		return true
	}
	return false
}

// OneLine makes s one line of at most limit characters, without control
// characters and such that change the direction of text: what comes from a
// model or a file can't move the cursor of who is shown it.
func OneLine(s string, limit int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unprintable(r) {
			return -1
		}
		return r
	}, s))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}
