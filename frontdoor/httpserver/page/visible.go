package page

import (
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
)

// Piece is a part of a text that a person decides about. Characters that would not be
// seen, or would change how the rest is read, are pieces of their own.
type Piece struct {
	Text   string `json:"t"`
	Hidden bool   `json:"h,omitempty"` // Text is the name of such a character: \u{202e}
}

// visible returns a text as pieces, up to limit characters. complete false: more was there.
func visible(s string, limit int) (pieces []Piece, complete bool) {
	pieces = []Piece{}
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			pieces = append(pieces, Piece{Text: b.String()})
			b.Reset()
		}
	}
	n := 0
	for _, r := range s {
		if n++; n > limit {
			flush()
			return pieces, false
		}
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case termtext.Hides(r):
			flush()
			pieces = append(pieces, Piece{fmt.Sprintf(`\u{%x}`, r), true})
		default:
			b.WriteRune(r)
		}
	}
	flush()
	return pieces, true
}

// named returns a text with such characters by their names.
func named(s string) string {
	if !strings.ContainsFunc(s, termtext.Hides) {
		return s
	}
	pieces, _ := visible(s, len(s))
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.Text)
	}
	return b.String()
}
