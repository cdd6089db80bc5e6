// Package secrets finds credentials in text by their form, and masks them.
//
// It knows only forms that are hardly anything else: a provider's prefix for its keys,
// followed by enough characters of the provider's alphabet. A password without a form
// is not found. The prefix stays, so that a person sees which credential was there. A
// text that arrives in pieces is held back only after a prefix: see [Stream]. The time
// is linear in the text.
package secrets

import (
	"io"
	"strings"
)

// Mask returns the text with what looks like a credential replaced by "[masked: KIND]",
// behind the prefix by which it is known. A text without credentials is returned
// unchanged.
func Mask(text string) string { return mask(text, false) }

// MaskAsked is [Mask] for what a person is asked about. It does not mask values that
// could hide a part of the call. These are private keys, whose form has spaces and
// slashes, passwords in addresses, and other values that a path or a command fits into.
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

// markStart begins each replacement of a credential.
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
