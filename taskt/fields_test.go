package taskt_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestParams: what a file says of sampling and of limits reaches the model.
func TestParams(t *testing.T) {
	var got model.Params
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		got = req.Params
		return answer("ok")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, map[string]string{
		"tuned.md": agentFile("temperature: 0.2", "topP: 0.9", "maxOutputTokens: 77", "effort: High"),
		"plain.md": agentFile(),
	})
	temperature, topP := 0.2, 0.9
	for agent, want := range map[string]model.Params{
		"tuned": {MaxOutputTokens: 77, Temperature: &temperature, TopP: &topP, Effort: "High"},
		"plain": {},
	} {
		if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: agent}); res.Err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", agent, got, res.Err, want)
		}
	}
}

// named is a model that has a name.
type named struct {
	model.Model
	name string
}

func (m named) Name() string { return m.name }

// TestModels: an agent runs on the model that its file names, else on its
// caller's, else on the default.
func TestModels(t *testing.T) {
	chain := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		text, n := prompt(req)
		next, rest, more := strings.Cut(text, " ")
		if !more || n > 0 {
			return answer("ok")(ctx, req, yield)
		}
		_ = yield(model.ToolCall{ID: "1", Name: "task", Arguments: fmt.Sprintf(`{"description":"d","prompt":%q,"agentType":%q}`, rest, next)}) &&
			yield(model.Stop{Reason: model.StopToolCalls})
		return nil
	})
	e := setup{
		models: func(name string) (model.Model, error) { return named{chain, "model " + name}, nil },
		limits: taskt.Limits{Depth: 3},
		files: map[string]string{
			"fast.md":  agentFile("model: quick"),
			"heir.md":  agentFile("model: inherit"),
			"plain.md": agentFile(),
			"slow.md":  agentFile("model: [deep]"),
		},
	}.open(t)
	for _, tt := range []struct {
		agent, prompt string
		want          string // models from the root down
	}{
		{"plain", "p", "model "},
		{"heir", "p", "model "},
		{"fast", "p", "model quick"},
		{"fast", "heir p", "model quick, model quick"},
		{"fast", "slow plain p", "model quick, model deep, model deep"},
		{"plain", "fast heir p", "model , model quick, model quick"},
	} {
		root, err := e.OpenCaller(t.Context(), "test", record.Owner)
		if err != nil {
			t.Fatal(err)
		}
		if res := e.Call(t.Context(), root, taskt.Input{Prompt: tt.prompt, AgentType: tt.agent}); res.Err != nil {
			t.Fatal(res.Err)
		}
		records, err := e.sessions.Store().Index.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		models := make([]string, strings.Count(tt.prompt, " ")+1)
		for _, r := range records {
			if r.Path[0].SessionID == root.ID() && r.Depth > 0 {
				models[r.Depth-1] = r.Model
			}
		}
		if got := strings.Join(models, ", "); got != tt.want {
			t.Errorf("%s, %q: ran on %q, want %q", tt.agent, tt.prompt, got, tt.want)
		}
	}
}

// TestTimeouts: a run may take the time that its file says, else the worker's.
func TestTimeouts(t *testing.T) {
	hangs := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Part) bool) error {
		<-ctx.Done()
		return ctx.Err()
	})
	e := newEnv(t, hangs, taskt.Limits{ChildTime: 1500 * time.Millisecond}, map[string]string{
		"brief.md": agentFile("timeoutSeconds: 1"),
		"plain.md": agentFile(),
	})
	for agent, want := range map[string]string{"brief": "the time limit of 1s has passed", "plain": "the time limit of 1.5s has passed"} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: agent})
		if res.Status != record.TimedOut || res.Text != want {
			t.Errorf("%s: %s, %s, want %s", agent, res.Status, res.Text, want)
		}
	}
}
