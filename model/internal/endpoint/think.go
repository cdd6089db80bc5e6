package endpoint

import (
	"strings"

	"github.com/agentworker/worker/model"
)

// thinkTags are the tags that models write around what they think, by their beginnings.
var thinkTags = map[string]string{
	"<think>": "</think>", "<thinking>": "</thinking>", "<thought>": "</thought>", "<reasoning>": "</reasoning>", "<seed:think>": "</seed:think>",
	"[THINK]": "[/THINK]", "◁think▷": "◁/think▷",
}

// tagStarts are the bytes that a tag begins with.
const tagStarts = "<[\xE2"

// Thoughts takes what a model thinks out of the text that it writes. Tags in code are text. What
// stands before an end without a beginning was thought: some chat templates write the beginning
// themselves.
type Thoughts struct {
	held string          // what may be the beginning of a tag
	text strings.Builder // what was given as text, until a tag has come

	said   bool   // text was given, other than space
	end    string // that closes the thought which is open; empty means none is
	opened string // the tag that opened it
	late   strings.Builder
	began  bool // a tag has come
	quote  quoting
}

// quoting follows Markdown's code.
type quoting struct {
	fence bool
	ticks int    // backticks of the line, outside of fences
	line  string // its first bytes
}

// Add takes a piece of text, and returns the parts that it completes.
func (t *Thoughts) Add(piece string) []model.Part {
	t.held += piece
	var parts []model.Part
	for {
		at, tag := t.next()
		if tag == "" {
			return append(parts, t.give(len(t.held)-t.unfinished())...)
		}
		parts = append(parts, t.give(at)...)
		t.held = t.held[len(tag):]
		parts = append(parts, t.take(tag)...)
	}
}

// take begins or ends a thought.
func (t *Thoughts) take(tag string) []model.Part {
	if end, ok := thinkTags[tag]; ok {
		t.end, t.opened = end, ""
		if t.said { // else the answer begins with it
			t.opened = tag
		}
		t.late.Reset()
		t.began = true
		return nil
	}
	wasOpen := t.end != ""
	t.end, t.opened, t.said = "", "", false
	if t.began || wasOpen {
		t.began = true
		return nil
	}
	t.began = true
	if t.text.Len() == 0 {
		return nil
	}
	return []model.Part{model.TextWasReasoning{}}
}

// next finds the next tag that counts: a beginning, or the end of what is open. Before any tag an
// end counts as well.
func (t *Thoughts) next() (at int, tag string) {
	quote := t.quote
	read := 0
	for i := 0; i < len(t.held); i++ {
		if strings.IndexByte(tagStarts, t.held[i]) < 0 {
			continue
		}
		quote.read(t.held[read:i])
		read = i
		if t.end != "" {
			if strings.HasPrefix(t.held[i:], t.end) {
				return i, t.end
			}
			continue
		}
		if quote.code() {
			continue
		}
		for begin, end := range thinkTags {
			switch rest := t.held[i:]; {
			case strings.HasPrefix(rest, begin):
				return i, begin
			case !t.began && strings.HasPrefix(rest, end):
				return i, end
			}
		}
	}
	return 0, ""
}

// unfinished returns how many of the last bytes may be the beginning of a tag.
func (t *Thoughts) unfinished() int {
	if !t.said && t.end == "" && strings.TrimSpace(t.held) == "" {
		return len(t.held) // space before a tag is no text
	}
	for n := min(len(t.held), len("</seed:think>")-1); n > 0; n-- {
		rest := t.held[len(t.held)-n:]
		if strings.IndexByte(tagStarts, rest[0]) < 0 {
			continue
		}
		for begin, end := range thinkTags {
			if strings.HasPrefix(begin, rest) || strings.HasPrefix(end, rest) {
				return n
			}
		}
	}
	return 0
}

// give returns the part of the first n bytes.
func (t *Thoughts) give(n int) []model.Part {
	piece := t.held[:n]
	t.held = t.held[n:]
	if t.end == "" && !t.said && t.began { // behind a thought
		piece = strings.TrimLeft(piece, " \t\r\n")
	}
	if piece == "" {
		return nil
	}
	if t.end != "" {
		if t.opened != "" {
			t.late.WriteString(piece)
		}
		return []model.Part{model.ReasoningDelta{Text: piece}}
	}
	t.quote.read(piece)
	blank := strings.TrimSpace(piece) == ""
	if blank && !t.said && len(t.held) > 0 { // before a tag
		return nil
	}
	t.said = t.said || !blank
	if !t.began {
		t.text.WriteString(piece)
	}
	return []model.Part{model.TextDelta{Text: piece}}
}

// End returns what is left. A thought within the text that has no end was text.
func (t *Thoughts) End() []model.Part {
	parts := t.give(len(t.held))
	if t.opened != "" {
		parts = append(parts, model.TextDelta{Text: t.opened + t.late.String()})
	}
	t.end, t.opened = "", ""
	return parts
}

// Given returns the text that was given before any tag.
func (t *Thoughts) Given() string { return t.text.String() }

// read takes the next bytes of a text.
func (q *quoting) read(piece string) {
	for i := range len(piece) {
		switch c := piece[i]; c {
		case '\n':
			if q.line == "```" || q.line == "~~~" {
				q.fence = !q.fence
			}
			q.line, q.ticks = "", 0
			continue
		case '`':
			q.ticks++
			fallthrough
		default:
			if c != ' ' && c != '\t' || q.line != "" {
				if len(q.line) < 3 {
					q.line += string(rune(c))
				}
			}
		}
	}
}

// code reports whether what comes next is code.
func (q *quoting) code() bool {
	return q.fence || q.line == "```" || q.line == "~~~" || q.ticks%2 == 1
}
