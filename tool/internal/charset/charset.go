// Package charset reads text files that are not UTF-8, and writes them as they were.
package charset

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// Charset is how a file stores its text. The zero value is UTF-8.
type Charset struct {
	name string
	enc  encoding.Encoding // nil means UTF-8
	mark []byte            // what the file begins with, before its text
}

// String returns the name for people, such as "UTF-16LE" or "gbk".
func (c Charset) String() string {
	if c.enc == nil {
		return "UTF-8"
	}
	return c.name
}

// IsUTF8 reports whether the text is stored as it is.
func (c Charset) IsUTF8() bool { return c.enc == nil }

const (
	// head is how much of a file is looked at to tell whether it is binary, in bytes. Git looks
	// at as much.
	head = 8 << 10

	// sample bounds what is looked at to tell charsets apart, in bytes.
	sample = 64 << 10

	// leastUnmarked is how many bytes tell UTF-16 without a mark.
	leastUnmarked = 16

	// sure is how sure the detection has to be, from 0 to 1. Below that a file is Latin-1.
	sure = 0.6
)

// marked are the charsets that are known by a mark.
var marked = []Charset{
	{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), []byte{0xff, 0xfe}},
	{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), []byte{0xfe, 0xff}},
}

// Decode returns the text of a file as UTF-8, without a mark at its beginning, and how it is
// stored. A UTF-8 mark stays part of the text, and so do a few wrong bytes in UTF-8. ok is false for content that is no text, or that
// would not be stored as it was.
func Decode(content []byte) (text []byte, c Charset, ok bool) {
	binary := bytes.IndexByte(content[:min(len(content), head)], 0) >= 0
	if !binary && (utf8.Valid(content) || mostlyUTF8(content)) {
		return content, Charset{}, true
	}
	for _, c := range candidates(content, binary) {
		text, err := c.enc.NewDecoder().Bytes(content[len(c.mark):])
		if err != nil || len(text) == 0 || bytes.ContainsRune(text, utf8.RuneError) || bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		if again, err := c.Encode(text); err == nil && bytes.Equal(again, content) {
			return text, c, true
		}
	}
	return nil, Charset{}, false
}

// mostlyUTF8 reports whether content is UTF-8 with a few wrong bytes: it has the mark of UTF-8, or
// twice as many letters of several bytes as wrong ones.
func mostlyUTF8(content []byte) bool {
	if bytes.HasPrefix(content, []byte("\uFEFF")) {
		return true
	}
	letters, wrong := 0, 0
	for at := 0; at < len(content); {
		r, size := utf8.DecodeRune(content[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			wrong++
		case size > 1:
			letters++
		}
		at += size
	}
	return letters >= 2*wrong
}

// candidates returns the charsets that content may be in, the likeliest first.
func candidates(content []byte, binary bool) []Charset {
	for _, c := range marked {
		if bytes.HasPrefix(content, c.mark) {
			return []Charset{c}
		}
	}
	if binary {
		return unmarked(content)
	}
	var all []Charset
	found := chardet.Detect(content[:min(len(content), sample)])
	if enc, err := htmlindex.Get(found.Encoding); err == nil && found.Confidence >= sure {
		name, err := htmlindex.Name(enc) // ISO-8859-1 is a part of windows-1252
		if err != nil {
			name = found.Encoding
		}
		all = append(all, Charset{name: name, enc: enc})
	}
	return append(all, Charset{name: "windows-1252", enc: charmap.Windows1252}, Charset{name: "iso-8859-1", enc: charmap.ISO8859_1})
}

// unmarked returns UTF-16 for content that has a NUL in most of the places of one parity, as
// text in Latin letters has, and in none of the other.
func unmarked(content []byte) []Charset {
	part := content[:min(len(content), head)&^1]
	if len(part) < leastUnmarked {
		return nil
	}
	var nuls [2]int
	for i, b := range part {
		if b == 0 {
			nuls[i%2]++
		}
	}
	for i, c := range marked { // the high byte of UTF-16LE is the second one
		if high := 1 - i; nuls[1-high] == 0 && nuls[high]*10 > len(part)/2*7 && len(content)%2 == 0 {
			return []Charset{{name: c.name, enc: c.enc}}
		}
	}
	return nil
}

// Encode returns text as the file stores it. The error names a character that c has no form for.
func (c Charset) Encode(text []byte) ([]byte, error) {
	if c.enc == nil {
		return text, nil
	}
	encoded, err := c.enc.NewEncoder().Bytes(text)
	if err == nil {
		return append(bytes.Clone(c.mark), encoded...), nil
	}
	for _, r := range string(text) {
		if _, err := c.enc.NewEncoder().String(string(r)); err != nil {
			return nil, fmt.Errorf("the file is stored as %s, which has no form for %q: use characters that it has", c, r)
		}
	}
	return nil, fmt.Errorf("the file is stored as %s: %w", c, err)
}
