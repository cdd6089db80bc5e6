package termtext

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a writer of JSON to a terminal. Characters that could move the
// cursor or change the direction of text are written as \u escapes of
// the same characters: C1, DEL, direction, line ends of Unicode. JSON itself asks
// that of C0 alone. What is no UTF-8, and so no JSON, becomes U+FFFD.
func JSON(w io.Writer) io.Writer { return &jsonWriter{w: w} }

type jsonWriter struct {
	w    io.Writer
	part []byte // of a character whose rest is to come
}

// Write implements [io.Writer].
func (j *jsonWriter) Write(p []byte) (int, error) {
	text := append(j.part, p...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 && utf8.FullRune(text) {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1, r != '\n' && r != '\t' && r != '\r' && unprintable(r):
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		default:
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	j.part = append([]byte(nil), text...)
	if _, err := j.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
