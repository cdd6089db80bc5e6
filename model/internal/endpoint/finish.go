package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// AfterFinish is how long an answer that has its finish reason is read on, for what it has
// used. Some servers neither end such an answer nor close the connection.
const AfterFinish = 2 * time.Second

// BOM is the byte order mark of UTF-8.
const BOM = "\uFEFF"

// Body is the body of a stream of events, without a byte order mark. It ends the last event: some
// servers leave out the blank line after it. A JSON document is one event.
type Body struct {
	io.ReadCloser
	end   *strings.Reader
	last  string // the last bytes, up to two
	ended bool
}

// EndLine makes the body of a response a [Body].
func EndLine(res *http.Response) *Body {
	b := &Body{ReadCloser: &unmarked{ReadCloser: res.Body}, end: strings.NewReader("\n\n")}
	res.Body = b
	return b
}

// Whole reports whether a response is one JSON document with a field. Events with the media
// type of JSON count as well.
func Whole(res *http.Response, field string) bool {
	if res == nil || res.StatusCode >= 300 || mediaType(res) != "application/json" {
		return false
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	res.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(body), res.Body}
	var document map[string]json.RawMessage
	if json.Unmarshal(body, &document) != nil {
		return err == nil && bytes.Contains(body, []byte("data:"))
	}
	return len(document[field]) > len("[]")
}

// unmarked is a body without a byte order mark. A JSON document has the field name of an event's
// data before it, and no line ends.
type unmarked struct {
	io.ReadCloser
	from *bufio.Reader // nil until the first read
}

// Read implements [io.Reader].
func (u *unmarked) Read(p []byte) (int, error) {
	if u.from == nil {
		u.from = bufio.NewReader(u.ReadCloser)
		if head, _ := u.from.Peek(1); len(head) == 1 && head[0] == BOM[0] { // a stream's first byte waits for no other
			if head, _ := u.from.Peek(len(BOM)); string(head) == BOM {
				_, _ = u.from.Discard(len(BOM))
			}
		}
		if head, _ := u.from.Peek(1); len(head) == 1 && (head[0] == '{' || head[0] == '[') {
			data, err := io.ReadAll(io.LimitReader(u.from, maxDocument))
			if err != nil {
				return 0, err
			}
			data = append([]byte("data: "), bytes.Map(func(r rune) rune {
				if r == '\n' || r == '\r' {
					return ' '
				}
				return r
			}, data)...)
			u.from = bufio.NewReader(bytes.NewReader(data))
		}
	}
	return u.from.Read(p)
}

// maxDocument bounds an answer that comes as one JSON document, in bytes.
const maxDocument = 16 << 20

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	if b.ended {
		return b.end.Read(p)
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		last := b.last + string(p[max(0, n-2):n])
		b.last = last[max(0, len(last)-2):]
	}
	if errors.Is(err, io.EOF) {
		b.ended, err = true, nil
	}
	return n, err
}

// CutOff reports whether err is a JSON error because the body ended within an event.
func (b *Body) CutOff(err error) bool {
	return b.ended && b.last != "\n\n" && b.last != "\r\n" && errors.As(err, new(*json.SyntaxError))
}
