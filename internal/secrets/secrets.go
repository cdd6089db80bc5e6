// Package secrets finds credentials in text by their form, and masks them.
//
// Only forms that are hardly anything else are known: a prefix that a provider gives its
// keys, and as many characters of its alphabet behind it. A password without a form is not
// found. The prefix stays, so that a person sees what was there, and a text that comes in
// pieces is held back only behind one: see [Stream]. The time is linear in the text.
package secrets

import (
	"io"
	"strings"
)

// Mask returns the text with what looks like a credential replaced by "[masked: KIND]",
// behind the prefix by which it is known. A text without any is returned as it is.
func Mask(text string) string { return mask(text, false) }

// MaskAsked is [Mask] for what a person is asked about. It leaves what could hide a part of
// the call: a private key, whose form has spaces and slashes, a password in an address, and
// other values that a path or a command fits into.
func MaskAsked(text string) string { return mask(text, true) }

func mask(text string, asked bool) string {
	if len(text) < shortest {
		return text
	}
	var out strings.Builder
	from := 0 // what is before it is in out
	for i := 0; i < len(text); {
		at, k, _ := find(text, i, true, asked)
		if k == nil {
			break
		}
		out.WriteString(text[from:at])
		out.WriteString(k.mark)
		i, _ = rest(text, at, k, true)
		from = i
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

// Masked reports whether a text may be one that was masked.
func Masked(text string) bool { return strings.Contains(text, markStart) }

// markStart is what stands in the place of a credential begins with.
const markStart = "[masked: "

// shortest is the length of the shortest text that has a credential.
const shortest = len("a://b:secret@")

// Writer returns a writer that masks what it writes to w, each write by itself: a line of a
// log is one.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ io.Writer }

// Write implements [io.Writer].
func (w writer) Write(p []byte) (int, error) {
	text := string(p)
	masked := Mask(text)
	if masked == text {
		return w.Writer.Write(p)
	}
	if _, err := io.WriteString(w.Writer, masked); err != nil {
		return 0, err
	}
	return len(p), nil
}
