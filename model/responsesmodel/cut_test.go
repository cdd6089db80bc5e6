package responsesmodel_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
)

// over returns a model whose answers are those of tr.
func over(tr *modeltest.Exchange) model.Model {
	return client(modeltest.Client{URL: "http://127.0.0.1:1/v1", HTTP: &http.Client{Transport: tr}, Retries: new(int)})
}

// TestCutAnywhere ends each answer after each of its bytes, with and without an error. An answer
// is complete only once the event has come that ends it, and then has all of its text and calls.
func TestCutAnywhere(t *testing.T) {
	for _, form := range modeltest.FormsOf(t, "responses") {
		whole := []byte(form.Body)
		last := bytes.LastIndex(whole, []byte("data: "))
		if form.Kind != "" || form.Type != "" || !bytes.Contains(whole[last:], []byte(`"type":"response.`)) {
			continue
		}
		for n := range whole {
			for _, end := range []error{nil, io.ErrUnexpectedEOF} {
				tr := &modeltest.Exchange{Body: whole[:n], Err: end}
				got, err := modeltest.Collect(over(tr).Stream(t.Context(), modeltest.Ask("hello")))
				ended := len(whole)
				if end == nil {
					ended -= len("\n\n") // which some servers leave out
				}
				e, failed := errors.AsType[*model.Error](err)
				switch {
				case n < ended && (!failed || e.Kind != model.ErrUnavailable || got.Stop != "" || !strings.HasPrefix(form.Want.Text, got.Text)):
					t.Fatalf("%s, cut after %d bytes (%v): got %+v, %v, want kind unavailable", form.Name, n, end, got, err)
				case n >= ended && (err != nil || got.Text != form.Want.Text || got.Stop != form.Want.Stop || !reflect.DeepEqual(got.ToolCalls, form.Want.ToolCalls)):
					t.Fatalf("%s, cut after %d bytes (%v): got %+v, %v, want %+v", form.Name, n, end, got, err, form.Want)
				case !tr.Closed:
					t.Fatalf("%s, cut after %d bytes (%v): the body was not closed", form.Name, n, end)
				}
			}
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, form := range modeltest.FormsOf(f, "responses") {
		f.Add([]byte(form.Body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := modeltest.Collect(over(&modeltest.Exchange{Body: data}).Stream(t.Context(), modeltest.Ask("hello")))
		if _, ok := errors.AsType[*model.Error](err); err != nil && !ok {
			t.Errorf("%q: %v, want no error or a *model.Error", data, err)
		}
	})
}
