package agentfile

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs/internal/diag"
)

const byteOrderMark = "\uFEFF"

// decode returns data as UTF-8 with "\n" line ends, whatever it was, and reports
// what had to be changed. Bytes that are not text become U+FFFD, and p.Damaged
// is set: what decides about permission must not contain one of those.
func (p *Reader) decode(data []byte) string {
	switch order, skip := utf16Order(data); {
	case order != nil:
		p.Report(diag.EncodingUTF16, 1, 0, "save it as UTF-8", "the file is encoded as UTF-16")
		data = fromUTF16(data[skip:], order)
	case bytes.HasPrefix(data, []byte(byteOrderMark)):
		p.Report(diag.EncodingBOM, 1, 0, "save it as UTF-8 without a byte order mark", "the file begins with a byte order mark")
		for bytes.HasPrefix(data, []byte(byteOrderMark)) { // files that were put together have several
			data = data[len(byteOrderMark):]
		}
	}
	s := string(data)
	if !utf8.ValidString(s) {
		p.Report(diag.EncodingInvalid, firstInvalidLine(s), 0, "save it as UTF-8", "the file contains bytes that are not UTF-8; they were replaced")
		s = strings.ToValidUTF8(s, "\uFFFD")
		p.Damaged = true
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		p.Report(diag.EncodingNUL, 1+strings.Count(s[:i], "\n"), 0, "remove them", "the file contains NUL characters; they were replaced")
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
		p.Damaged = true
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n")
}

// utf16Order returns the byte order of UTF-16 text and the length of its byte
// order mark, or nil if data is something else. Text without a mark is recognised by the
// zero bytes of its first two ASCII characters.
func utf16Order(data []byte) (binary.ByteOrder, int) {
	switch {
	case len(data) < 4:
		return nil, 0
	case data[0] == 0xFF && data[1] == 0xFE:
		return binary.LittleEndian, 2
	case data[0] == 0xFE && data[1] == 0xFF:
		return binary.BigEndian, 2
	case data[0] != 0 && data[1] == 0 && data[2] != 0 && data[3] == 0:
		return binary.LittleEndian, 0
	case data[0] == 0 && data[1] != 0 && data[2] == 0 && data[3] != 0:
		return binary.BigEndian, 0
	}
	return nil, 0
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, 0, len(data)/2+1)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	if len(data) == 1 { // half a character
		units = append(units, 0xD800)
	}
	out := make([]byte, 0, len(units))
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		switch {
		case !utf16.IsSurrogate(r):
			out = utf8.AppendRune(out, r)
		case i+1 < len(units) && utf16.DecodeRune(r, rune(units[i+1])) != utf8.RuneError:
			i++
			out = utf8.AppendRune(out, utf16.DecodeRune(r, rune(units[i])))
		default:
			out = append(out, 0xFF) // reported as invalid, like a bad byte of UTF-8
		}
	}
	return out
}

func firstInvalidLine(s string) int {
	line := 1
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		s = s[n:]
	}
	return line
}

// conflict returns the line at which the markers of a merge conflict begin that is not
// resolved; 0 means there is none. In a code fence they are an example.
func conflict(text string) int {
	if !strings.Contains(text, "<<<<<<< ") {
		return 0
	}
	begin, middle, fenced, n := 0, false, false, 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		switch fence := strings.TrimLeft(line, " "); {
		case strings.HasPrefix(fence, "```") || strings.HasPrefix(fence, "~~~"):
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(line, "<<<<<<< "):
			begin, middle = n, false
		case line == "=======" && begin > 0:
			middle = true
		case strings.HasPrefix(line, ">>>>>>> ") && middle:
			return begin
		}
	}
	return 0
}
