package endpoint_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/agentworker/worker/model/internal/endpoint"
)

// TestLines: all line ends are LF, and byte order marks are gone, however the bytes come.
func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\n\n": "a\nb\n\n\n\n", "a\r\nb\r\n\r\n": "a\nb\n\n\n\n", "a\rb\r\r": "a\nb\n\n\n\n", "a\r\r\nb": "a\n\nb\n\n", "\r\n": "\n\n\n", "\r": "\n\n\n", "": "\n\n",
		"\ufeffdata: a\n\n\ufeffdata: b\n\n": "data: a\n\ndata: b\n\n\n\n", "a\ufeffb": "a\ufeffb\n\n", "error: x\rerror: y": "event: error\ndata: x\nevent: error\ndata: y\n\n",
	} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			res := &http.Response{Body: io.NopCloser(from)}
			endpoint.EndLine(res)
			if got, err := io.ReadAll(res.Body); string(got) != want || err != nil {
				t.Errorf("%q is %q, want %q: %v", text, got, want, err)
			}
		}
	}
}
