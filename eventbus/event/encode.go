package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Encode returns the event's JSON, with "type" first.
func Encode(ev Event) ([]byte, error) {
	if u, ok := ev.(Unknown); ok {
		return u.Raw, nil
	}
	return Append(nil, ev)
}

// Append appends what [Encode] returns to dst. Deltas, which most events are, need
// no other memory.
func Append(dst []byte, ev Event) ([]byte, error) {
	switch ev := ev.(type) {
	case ContentDelta:
		return AppendDelta(dst, ev.Type(), ev.MessageID, ev.Delta, ev.Offset), nil
	case ReasoningDelta:
		return AppendDelta(dst, ev.Type(), ev.MessageID, ev.Delta, ev.Offset), nil
	case Unknown:
		return append(dst, ev.Raw...), nil
	}
	start := len(dst)
	dst = append(dst, `{"type":"`...)
	dst = append(dst, ev.Type()...)
	dst = append(dst, '"')
	body := len(dst)
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(ev); err != nil {
		return dst[:start], fmt.Errorf("encoding a %s event: %w", ev.Type(), err)
	}
	dst = buf.Bytes()
	dst = dst[:len(dst)-1]  // without the encoder's newline
	if len(dst) == body+2 { // {}
		return append(dst[:body], '}'), nil
	}
	dst[body] = ','
	return dst, nil
}

// AppendDelta appends the JSON of a [ContentDelta] or a [ReasoningDelta], whose type
// is given.
func AppendDelta[T string | []byte](dst []byte, typ, messageID string, delta T, offset int) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, `","messageId":`...)
	dst = appendString(dst, messageID)
	dst = append(dst, `,"delta":`...)
	dst = appendString(dst, delta)
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, int64(offset), 10)
	return append(dst, '}')
}

const hexDigits = "0123456789abcdef"

// short has the letter of each character that JSON escapes with one.
var short = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendString appends s as a JSON string, as encoding/json does without escaping
// for HTML: what is not UTF-8 becomes U+FFFD.
func appendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	from := 0 // what is before it has been appended
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			if c >= ' ' && short[c] == 0 {
				continue
			}
			dst = append(dst, s[from:i-1]...)
			from = i
			if letter := short[c]; letter != 0 {
				dst = append(dst, '\\', letter)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		i += size
		var escaped string
		switch {
		case r == utf8.RuneError && size == 1:
			escaped = `\ufffd`
		case r == '\u2028': // these two end a line in JavaScript
			escaped = `\u2028`
		case r == '\u2029':
			escaped = `\u2029`
		default:
			continue
		}
		dst = append(dst, s[from:i-size]...)
		dst = append(dst, escaped...)
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
