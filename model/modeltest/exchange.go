package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"

	"github.com/agentworker/worker/model"
)

// Ask is a request with one message of the user.
func Ask(text string) *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.User, Text: text}}}
}

// Exchange is an [http.RoundTripper] that answers every request with a stream of
// events. It is for one request at a time.
type Exchange struct {
	Body   []byte
	Err    error // read behind Body; nil means the end
	Closed bool  // the body of the last answer was closed
}

// RoundTrip implements [http.RoundTripper].
func (e *Exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req,
		Body: &exchangeBody{Reader: bytes.NewReader(e.Body), of: e},
	}, nil
}

type exchangeBody struct {
	io.Reader
	of *Exchange
}

func (b *exchangeBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && b.of.Err != nil {
		err = b.of.Err
	}
	return n, err
}

func (b *exchangeBody) Close() error {
	b.of.Closed = true
	return nil
}

// SameJSON compares two JSON texts, numbers by their digits.
func SameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var values [2]any
	for i, data := range [][]byte{a, b} {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&values[i]); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
