package mcpserver

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/taskt"
)

// truncateResult returns a result's element within the host's limit. A text that is
// too long keeps its head and its tail; between them stands how to read the rest.
func truncateResult(r *taskt.Result, limit size) (text string, cut bool) {
	whole := r.XML()
	if limit.fits(whole) {
		return whole, false
	}
	all := utf8.RuneCountInString(r.Text)
	shown := *r
	// Escapes make the element longer than its text: then try again with less.
	for budget := limit.max; ; {
		head, tail := headOf(r.Text, budget/2, limit), tailOf(r.Text, budget/2, limit)
		first := utf8.RuneCountInString(head)
		shown.Text = head + "\n\n" + leftOut(r, first, all-first-utf8.RuneCountInString(tail)) + "\n\n" + tail
		text = shown.XML()
		if limit.fits(text) || budget == 0 {
			return text, true
		}
		budget = max(0, budget-(limit.of(text)-limit.max))
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
func page(r *taskt.Result, offset int, limit size) (string, error) {
	all := utf8.RuneCountInString(r.Text)
	if offset < 0 || offset >= all {
		return "", fmt.Errorf("the answer of session %s has %d characters: offset %d is not within 0 and %d", r.SessionID, all, offset, all-1)
	}
	rest := after(r.Text, offset)
	if limit.max == 0 {
		return part(r, rest, offset, all), nil
	}
	for budget := limit.max; ; {
		text := part(r, headOf(rest, max(budget, 64), limit), offset, all)
		if limit.fits(text) || budget <= 64 {
			return text, nil
		}
		budget -= limit.of(text) - limit.max
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

// headOf returns the beginning of s within budget. It ends at a line's end if the
// last quarter has one.
func headOf(s string, budget int, limit size) string {
	end, used := 0, 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if used += limit.ofRune(r); used > budget {
			break
		}
		end += n
	}
	if end >= len(s) {
		return s
	}
	if line := strings.LastIndexByte(s[:end], '\n'); line > end-end/4 {
		return s[:line]
	}
	return s[:end]
}

// tailOf returns the end of s within budget. It begins at a line's start if the
// first quarter has one.
func tailOf(s string, budget int, limit size) string {
	start, used := len(s), 0
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if used += limit.ofRune(r); used > budget {
			break
		}
		start -= n
	}
	tail := s[start:]
	if line := strings.IndexByte(tail, '\n'); start > 0 && line >= 0 && line < len(tail)/4 {
		return tail[line+1:]
	}
	return tail
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
