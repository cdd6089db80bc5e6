package toolcall

import (
	"fmt"
	"unicode/utf8"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/taskt"
)

// Truncate returns a result's element within the host's limit. A text that is too long
// keeps its head and its tail. Between them stands how to read the rest.
func Truncate(r *taskt.Result, limit hosts.Size) (text string, cut bool) {
	if text = r.ForModel(); limit.Fits(text) {
		return text, false
	}
	all := utf8.RuneCountInString(r.Text)
	shown := *r
	// Escapes make the element longer than its text: then try again with less.
	for budget := limit.Max; ; {
		head, tail := hosts.HeadOf(r.Text, budget/2, limit), hosts.TailOf(r.Text, budget/2, limit)
		first := utf8.RuneCountInString(head)
		shown.Text = head + "\n\n" + leftOut(r, first, all-first-utf8.RuneCountInString(tail)) + "\n\n" + tail
		text = shown.ForModel()
		if limit.Fits(text) || budget == 0 {
			return text, true
		}
		budget = max(0, budget-(limit.Of(text)-limit.Max))
	}
}

// leftOut says how to read the n characters after the first ones. Only an answer
// can be read in full with task_result.
func leftOut(r *taskt.Result, first, n int) string {
	switch {
	case r.SessionID == "":
		return fmt.Sprintf("[… %d characters left out …]", n)
	case r.Err != nil:
		return fmt.Sprintf("[… %d characters left out. 'worker sessions show %s' has all, in a terminal …]", n, r.SessionID)
	}
	return fmt.Sprintf(`[… %d characters left out. To read on, call %s with {"sessionId": %q, "offset": %d}; 'worker sessions show %s' has all, in a terminal …]`,
		n, TaskResult, r.SessionID, first, r.SessionID)
}
