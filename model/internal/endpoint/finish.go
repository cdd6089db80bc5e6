package endpoint

import (
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

// Body is the body of a stream of events. It ends the last event: some servers leave out the
// blank line after it.
type Body struct {
	io.ReadCloser
	end   *strings.Reader
	last  string // the last bytes, up to two
	ended bool
}

// EndLine makes the body of a response a [Body].
func EndLine(res *http.Response) *Body {
	b := &Body{ReadCloser: res.Body, end: strings.NewReader("\n\n")}
	res.Body = b
	return b
}

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
