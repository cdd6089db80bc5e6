package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// called is a model of a name, which answers with it.
type called string

func (n called) Name() string { return string(n) }

func (n called) Stream(_ context.Context, _ *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		_ = yield(model.TextDelta{Text: "I am " + string(n)}, nil) && yield(model.Stop{Reason: model.StopEnd}, nil)
	}
}

// TestModelPrecedence: the call's model comes before the file's, that before the one
// set for the agent, and that before the caller's. One that can't be had is passed over
// with a warning (D11, O12).
func TestModelPrecedence(t *testing.T) {
	e := setup{
		models: func(name string) (model.Model, error) {
			if strings.HasPrefix(name, "bad") {
				return nil, errors.New("no key for " + name)
			}
			if name == "" {
				name = "default"
			}
			return called(name), nil
		},
		agentModels: map[string]string{"explore": "set", "filed": "set", "broken": "bad/set"},
		files: map[string]string{
			"filed.md":  "---\ndescription: d\nmodel: file\n---\np",
			"broken.md": "---\ndescription: d\nmodel: bad/file\n---\np",
			"Plain.md":  "---\ndescription: d\n---\np",
		},
	}.open(t)
	for _, c := range []struct {
		agent, model, want string
		warnings           int
	}{
		{"filed", "call", "call", 0},
		{"filed", "", "file", 0},
		{"explore", "", "set", 0},
		{"Plain", "", "default", 0},
		{"filed", "bad/call", "file", 1},
		{"broken", "bad/call", "default", 3},
	} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: c.agent, Model: taskt.Models(c.model)})
		if res.Err != nil || res.Text != "I am "+c.want || res.Record.Model != c.want || len(res.Record.Warnings) != c.warnings {
			t.Errorf("%+v: %q on %s, %v, warnings %q", c, res.Text, res.Record.Model, res.Err, res.Record.Warnings)
		}
		if c.warnings > 0 && !strings.Contains(res.ForModel(), `[worker: the model "bad/call" is not used: no key for bad/call`) {
			t.Errorf("%+v: told %s", c, res.ForModel())
		}
		if said := e.warnings(t, res.Record.Path); len(said) != c.warnings {
			t.Errorf("%+v: %q on the stream", c, said)
		}
	}
}

// TestEffortPrecedence: the call decides on the effort, then the file, the setting for the
// agent, and the model. Another word is passed over with a warning (O12).
func TestEffortPrecedence(t *testing.T) {
	var sent string
	e := setup{model: modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		sent = req.Effort
		return answer("done")(ctx, req, yield)
	}), files: map[string]string{
		"filed.md":  "---\ndescription: d\neffort: low\n---\np",
		"broken.md": "---\ndescription: d\neffort: much\n---\np",
		"Set.md":    "---\ndescription: d\n---\np",
		"both.md":   "---\ndescription: d\neffort: much\n---\np",
	}, efforts: map[string]string{"filed": "max", "set": "minimal", "both": "medium"}}.open(t)
	for _, c := range []struct {
		agent, effort, want string
		warnings            int
	}{
		{"filed", "High", "High", 0},
		{"filed", "", "low", 0},
		{"explore", "", "", 0},
		{"filed", "more", "low", 1},
		{"broken", "max", "max", 0},
		{"broken", "", "", 1},
		{"broken", "more", "", 2},
		{"Set", "", "minimal", 0},
		{"Set", "low", "low", 0},
		{"Set", "more", "minimal", 1},
		{"both", "", "medium", 1},
	} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: c.agent, Effort: c.effort})
		if res.Err != nil || sent != c.want || len(res.Record.Warnings) != c.warnings || strings.Count(res.ForModel(), "is not used: it is none of none, minimal") != c.warnings {
			t.Errorf("%+v: %q was sent, %v, %s", c, sent, res.Err, res.ForModel())
		}
		if said := e.warnings(t, res.Record.Path); len(said) != c.warnings {
			t.Errorf("%+v: %q on the stream", c, said)
		}
	}
}

// TestMetadata: what a program says of a call is kept with the child's session, and the
// label names it in lists (G2, D14).
func TestMetadata(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, nil)
	in, err := e.ReadInput([]byte(`{"prompt":"p","agentType":"explore","description":"d","label":"third try","metadata":{"ticket":42}}`))
	if err != nil {
		t.Fatal(err)
	}
	res := e.Call(t.Context(), e.root, in)
	state, err := e.sessions.Store().Index.State(t.Context(), res.Record.Path)
	for of, r := range map[string]*record.Record{"the result": &res.Record, "the log": &state.Record} {
		if err != nil || r.Label != "third try" || string(r.Metadata) != `{"ticket":42}` || r.Description != "d" {
			t.Errorf("%s: %v, label %q, metadata %s", of, err, r.Label, r.Metadata)
		}
	}
	if doc := res.Document(); doc.Label != "third try" || string(doc.Metadata) != `{"ticket":42}` {
		t.Errorf("%+v", doc)
	}
	for data, want := range map[string]string{
		`"label":"` + strings.Repeat("x", 201) + `"`: "label has 201 bytes",
		`"metadata":[1]`: "metadata is not a JSON object",
		`"metadata":{"a":"` + strings.Repeat("x", 1<<15) + `"}`: "metadata has",
		`"timeoutSeconds":-1`:    "timeoutSeconds -1 is not within 1 and 86400",
		`"timeoutSeconds":86401`: "timeoutSeconds 86401 is not within",
		`"timeoutSeconds":"1"`:   "timeoutSeconds",
	} {
		if _, err := e.ReadInput([]byte(`{"prompt":"p","agentType":"explore",` + data + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want an error with %q", data, err, want)
		}
	}
}

// TestCallTimeout: a call says how long its subagent may run; a file that says less counts.
func TestCallTimeout(t *testing.T) {
	hangs := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Part) bool) error {
		<-ctx.Done()
		return ctx.Err()
	})
	e := newEnv(t, hangs, taskt.Limits{}, map[string]string{"short.md": "---\ndescription: d\ntimeoutSeconds: 1\n---\np"})
	held := newEnv(t, hangs, taskt.Limits{Most: time.Second}, nil)
	for agent, seconds := range map[string]int{"explore": 1, "short": 3600, "general": 3600} {
		e := e
		if agent == "general" { // no call has more than the most that there is
			e = held
		}
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: agent, TimeoutSeconds: seconds})
		var limit *lifetime.TimeLimitError
		if res.Status != record.TimedOut || !errors.As(res.Err, &limit) || limit.Limit.Seconds() != 1 {
			t.Errorf("%s: %s, %v", agent, res.Status, res.Err)
		}
	}
	var schema struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(e.spec().InputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	shown := []string{"model", "timeoutSeconds"}
	for _, hidden := range []string{"label", "metadata", "budget"} {
		if schema.Properties[hidden] != nil {
			t.Errorf("the schema shows %s", hidden)
		}
	}
	if slices.ContainsFunc(shown, func(name string) bool { return schema.Properties[name] == nil }) || len(schema.Properties) > 11 {
		t.Errorf("the schema shows %d fields", len(schema.Properties))
	}
}
