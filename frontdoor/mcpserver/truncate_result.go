package mcpserver

import (
	"fmt"
	"unicode/utf8"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/taskt"
)

// truncateResult returns a result's element within the host's limit. A text that is
// too long keeps its head and its tail; between them stands how to read the rest.
func truncateResult(r *taskt.Result, limit hosts.Size) (text string, cut bool) {
	whole := r.XML()
	if limit.Fits(whole) {
		return whole, false
	}
	all := utf8.RuneCountInString(r.Text)
	shown := *r
	// Escapes make the element longer than its text: then try again with less.
	for budget := limit.Max; ; {
		head, tail := hosts.HeadOf(r.Text, budget/2, limit), hosts.TailOf(r.Text, budget/2, limit)
		first := utf8.RuneCountInString(head)
		shown.Text = head + "\n\n" + leftOut(r, first, all-first-utf8.RuneCountInString(tail)) + "\n\n" + tail
		text = shown.XML()
		if limit.Fits(text) || budget == 0 {
			return text, true
		}
		budget = max(0, budget-(limit.Of(text)-limit.Max))
	}
}

// leftOut says how to read the n characters after the first ones. Only an answer
// is kept whole for task_result.
func leftOut(r *taskt.Result, first, n int) string {
	switch {
	case r.SessionID == "":
		return fmt.Sprintf("[… %d characters left out …]", n)
	case r.Err != nil:
		return fmt.Sprintf("[… %d characters left out. 'worker sessions show %s' has all, in a terminal …]", n, r.SessionID)
	}
	return fmt.Sprintf(`[… %d characters left out. To read on, call %s with {"sessionId": %q, "offset": %d}; 'worker sessions show %s' has all, in a terminal …]`,
		n, taskResultName, r.SessionID, first, r.SessionID)
}

// page returns the part of an answer that begins after offset characters, as
// long as the host takes it.
func page(r *taskt.Result, offset int, limit hosts.Size) (string, error) {
	all := utf8.RuneCountInString(r.Text)
	if offset < 0 || offset >= all {
		return "", fmt.Errorf("the answer of session %s has %d characters: offset %d is not within 0 and %d", r.SessionID, all, offset, all-1)
	}
	rest := after(r.Text, offset)
	if limit.Max == 0 {
		return part(r, rest, offset, all), nil
	}
	for budget := limit.Max; ; {
		text := part(r, hosts.HeadOf(rest, max(budget, 64), limit), offset, all)
		if limit.Fits(text) || budget <= 64 {
			return text, nil
		}
		budget -= limit.Of(text) - limit.Max
	}
}

// part returns the element of a part of an answer, below a line that says which
// part.
func part(r *taskt.Result, text string, offset, all int) string {
	end := offset + utf8.RuneCountInString(text)
	next := "this is the end"
	if end < all {
		next = fmt.Sprintf("%s with offset %d reads on", taskResultName, end)
	}
	return fmt.Sprintf("Characters %d to %d of %d; %s.\n%s", offset, end, all, next, taskt.XML("task_result_part", r.Agent, text))
}

// after returns s without its first n characters.
func after(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[i:]
		}
		n--
	}
	return ""
}
