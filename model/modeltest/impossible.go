package modeltest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentworker/worker/model"
)

// Impossible tests that m refuses impossible requests with [model.ErrInvalid]: the
// given ones, by name, and one with a broken schema of a tool.
func Impossible(t *testing.T, m model.Model, requests map[string]*model.Request) {
	t.Helper()
	requests["broken schema"] = &model.Request{
		Messages: []model.Message{{Role: model.User, Text: "hello"}},
		Tools:    []model.ToolSpec{{Name: "a", InputSchema: json.RawMessage(`{`)}},
	}
	for name, req := range requests {
		_, err := Collect(m.Stream(t.Context(), req))
		if e := (*model.Error)(nil); !errors.As(err, &e) || e.Kind != model.ErrInvalid {
			t.Errorf("%s: got %v, want kind invalid", name, err)
		}
	}
}
