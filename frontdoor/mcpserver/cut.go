package mcpserver

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/taskt"
)

// fitResult returns a result's element so that it reaches the host's model
// whole. Of a text that is too long it has the head and the tail, and between
// them how to read the rest.
func fitResult(r *taskt.Result, limit size) (text string, cut bool) {
	whole := r.XML()
	if limit.fits(whole) {
		return whole, false
	}
	all := utf8.RuneCountInString(r.Text)
	shown := *r
	// What is escaped makes the element longer than its text: then again, for less.
	for room := limit.max; ; {
		head, tail := headOf(r.Text, room/2, limit), tailOf(r.Text, room/2, limit)
		first := utf8.RuneCountInString(head)
		shown.Text = head + "\n\n" + leftOut(r, first, all-first-utf8.RuneCountInString(tail)) + "\n\n" + tail
		text = shown.XML()
		if limit.fits(text) || room == 0 {
			return text, true
		}
		room = max(0, room-(limit.of(text)-limit.max))
	}
}

// leftOut says where n characters after the first ones are. Only an answer is
// kept whole for task_result.
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
	for room := limit.max; ; {
		text := part(r, headOf(rest, max(room, 64), limit), offset, all)
		if limit.fits(text) || room <= 64 {
			return text, nil
		}
		room -= limit.of(text) - limit.max
	}
}

// part is an element of a part of an answer, below a line that says which.
func part(r *taskt.Result, text string, offset, all int) string {
	end := offset + utf8.RuneCountInString(text)
	next := "this is the end"
	if end < all {
		next = fmt.Sprintf("%s with offset %d reads on", taskResultName, end)
	}
	return fmt.Sprintf("Characters %d to %d of %d; %s.\n%s", offset, end, all, next, taskt.XML("task_result_part", r.Agent, text))
}

// headOf returns the beginning of s within room, at a line's end if there is
// one in its last quarter.
func headOf(s string, room int, limit size) string {
	end, used := 0, 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if used += limit.ofRune(r); used > room {
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

// tailOf returns the end of s within room, from a line's start if there is one
// in its first quarter.
func tailOf(s string, room int, limit size) string {
	start, used := len(s), 0
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if used += limit.ofRune(r); used > room {
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
