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
	last  [2]byte // the last bytes; 0 before there are any
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
	if inner := document["data"]; document[field] == nil && json.Unmarshal(inner, &document) == nil { // an envelope
		res.Body = struct {
			io.Reader
			io.Closer
		}{bytes.NewReader(inner), res.Body}
	}
	return len(document[field]) > len("[]")
}

// unmarked is a body without byte order marks, whose lines end in LF
// (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). JSON documents
// without that are events, each in one line. The field "error", which llama.cpp has sent, becomes an event.
type unmarked struct {
	io.ReadCloser
	from   *bufio.Reader // nil until the first read
	begins bool          // the next byte begins a line
	half   bool          // the last byte was CR: a LF that follows is of the same line end
	more   string        // comes before the next byte
}

// Read implements [io.Reader]. It returns at most a line.
func (u *unmarked) Read(p []byte) (int, error) {
	if u.from == nil {
		if err := u.open(); err != nil {
			return 0, err
		}
	}
	if u.half {
		u.half = false
		if head, _ := u.from.Peek(1); len(head) == 1 && head[0] == '\n' {
			_, _ = u.from.Discard(1)
		}
	}
	if u.begins {
		u.begins = false
		u.skipMark()
		if head, _ := u.from.Peek(1); len(head) == 1 && head[0] == 'e' {
			if head, _ := u.from.Peek(len("error:")); string(head) == "error:" {
				_, _ = u.from.Discard(len("error:"))
				u.more = "event: error\ndata:"
			}
		}
	}
	if u.more != "" {
		n := copy(p, u.more)
		u.more = u.more[n:]
		return n, nil
	}
	if _, err := u.from.Peek(1); err != nil {
		return 0, err
	}
	line, _ := u.from.Peek(min(u.from.Buffered(), len(p)))
	if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
		line, u.begins, u.half = line[:end+1], true, line[end] == '\r'
	}
	n := copy(p, line)
	if u.half {
		p[n-1] = '\n'
	}
	_, _ = u.from.Discard(n)
	return n, nil
}

// open reads how the body begins.
func (u *unmarked) open() error {
	u.from, u.begins = bufio.NewReader(u.ReadCloser), true
	u.skipMark()
	head, _ := u.from.Peek(1)
	if len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(u.from, maxDocument))
	if err != nil {
		return err
	}
	var events []byte
	documents := json.NewDecoder(bytes.NewReader(data))
	for { // more documents say nothing new
		var document json.RawMessage
		if documents.Decode(&document) != nil {
			break
		}
		events = append(append(append(events, "data: "...), inOneLine(document)...), "\n\n"...)
	}
	if events == nil {
		events = append([]byte("data: "), inOneLine(data)...)
	}
	u.from = bufio.NewReader(bytes.NewReader(events))
	return nil
}

func inOneLine(document []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, document)
}

// Lines returns the JSON documents in an event that has one in a line: its server has left out the blank
// lines between events, or was cut off within one. What is none is left out.
func Lines(event []byte) (documents [][]byte) {
	if !bytes.Contains(event, []byte("\n")) {
		return nil
	}
	for line := range bytes.Lines(event) {
		if line = bytes.TrimSpace(line); json.Valid(line) || string(line) == "[DONE]" {
			documents = append(documents, line)
		}
	}
	return documents
}

// skipMark passes over a byte order mark that comes next.
func (u *unmarked) skipMark() {
	if head, _ := u.from.Peek(1); len(head) == 1 && head[0] == BOM[0] { // any other byte waits for none
		if head, _ := u.from.Peek(len(BOM)); string(head) == BOM {
			_, _ = u.from.Discard(len(BOM))
		}
	}
}

// maxDocument bounds an answer that comes as one JSON document, in bytes.
const maxDocument = 16 << 20

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	if b.ended {
		return b.end.Read(p)
	}
	n, err := b.ReadCloser.Read(p)
	for _, c := range p[max(0, n-2):n] {
		b.last[0], b.last[1] = b.last[1], c
	}
	if errors.Is(err, io.EOF) {
		b.ended, err = true, nil
	}
	return n, err
}

// CutOff reports whether err is a JSON error because the body ended within an event.
func (b *Body) CutOff(err error) bool {
	return b.ended && string(b.last[:]) != "\n\n" && string(b.last[:]) != "\r\n" && errors.As(err, new(*json.SyntaxError))
}
