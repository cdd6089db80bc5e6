package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session"
)

// market has models by their names. It notes which of them were asked.
type market struct {
	mu    sync.Mutex
	fails map[string]error // of models; all others answer with their name
	asked []string
}

func (m *market) get(name string) (model.Model, error) {
	if name == "" {
		name = "default"
	}
	if name == "nowhere" {
		return nil, errors.New("there is no such model")
	}
	return named{name, modeltest.Func(func(_ context.Context, _ *model.Request, yield func(model.Part) bool) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked = append(m.asked, name)
		if err := m.fails[name]; err != nil {
			return err
		}
		_ = yield(model.TextDelta{Text: "from " + name}) && yield(model.Stop{Reason: model.StopEnd})
		return nil
	})}, nil
}

func (m *market) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.asked = nil }()
	return m.asked
}

// TestFailover: the next model of a list answers, for all sessions of the process and those below
// them. What is unknown to its provider is replaced by the default.
func TestFailover(t *testing.T) {
	away := &model.Error{Model: "a", Kind: model.ErrUnavailable, Status: 500, Message: "away"}
	unknown := &model.Error{Model: "new", Kind: model.ErrInvalid, Status: 404, Message: "no such model"}
	long := &model.Error{Model: "a", Kind: model.ErrInvalid, Status: 413, Message: "too long"}
	for name, tt := range map[string]struct {
		fails    map[string]error
		models   []string
		defaults []string
		again    []string // which models a second session asks
		asked    []string
		warning  string
		text     string // empty: it fails
	}{
		"the first answers":        {nil, []string{"a", "b"}, nil, []string{"a"}, []string{"a"}, "", "from a"},
		"the first is away":        {map[string]error{"a": away}, []string{"a", "b"}, nil, []string{"b"}, []string{"a", "b"}, "", "from b"},
		"two are away":             {map[string]error{"a": away, "b": away}, []string{"a", "b", "c"}, nil, []string{"c"}, []string{"a", "b", "c"}, "", "from c"},
		"all are away":             {map[string]error{"a": away, "b": away}, []string{"a", "b"}, nil, []string{"b"}, []string{"a", "b"}, "", ""},
		"one does not exist":       {map[string]error{"a": away}, []string{"a", "nowhere", "b"}, nil, []string{"b"}, []string{"a", "b"}, `"nowhere" is not used`, "from b"},
		"too long":                 {map[string]error{"a": long}, []string{"a", "b"}, nil, []string{"a"}, []string{"a"}, "", ""},
		"the defaults":             {map[string]error{"a": away}, nil, []string{"a", "b"}, []string{"b"}, []string{"a", "b"}, "", "from b"},
		"unknown":                  {map[string]error{"new": unknown}, []string{"new"}, nil, []string{"default"}, []string{"new", "default"}, `the model "new" is not used: a: no`, "from default"},
		"unknown, with another":    {map[string]error{"new": unknown}, []string{"new", "b"}, nil, []string{"b"}, []string{"new", "b"}, "", "from b"},
		"unknown, with defaults":   {map[string]error{"new": unknown, "a": away}, []string{"new"}, []string{"a", "b"}, []string{"b"}, []string{"new", "a", "b"}, "a answers instead", "from b"},
		"the default is unknown":   {map[string]error{"default": unknown}, nil, nil, []string{"default"}, []string{"default"}, "", ""},
		"unknown without a better": {map[string]error{"new": unknown, "default": unknown}, []string{"new"}, nil, []string{"default"}, []string{"new", "default"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sells := &market{fails: tt.fails}
			e := newEnv(t, nil, func(o *session.Options) { o.Model, o.Defaults = sells.get, tt.defaults })
			s := e.open(session.Spec{Models: tt.models})
			out := s.Prompt(t.Context(), "go")
			asked, r := sells.take(), s.Record()
			e.end(s, out)
			if !slices.Equal(asked, tt.asked) || out.Text != tt.text {
				t.Errorf("asked %v, want %v; %+v, want %q", asked, tt.asked, out, tt.text)
			}
			if tt.text != "" && "from "+r.Model != tt.text {
				t.Errorf("the record says that %s has answered", r.Model)
			}
			if warned := strings.Join(r.Warnings, "\n"); tt.warning == "" && strings.Contains(warned, "nowhere") || !strings.Contains(strings.ReplaceAll(warned, "new: no", "a: no"), tt.warning) {
				t.Errorf("the warnings %q, want %q", warned, tt.warning)
			}
			switched := 0
			for _, ev := range e.events(s) {
				if _, ok := ev.(event.ModelSwitched); ok {
					switched++
				}
			}
			if switched != len(tt.asked)-1 {
				t.Errorf("%d switches, want %d", switched, len(tt.asked)-1)
			}
			again := e.open(session.Spec{Models: tt.models})
			e.end(again, again.Prompt(t.Context(), "go"))
			if asked := sells.take(); !slices.Equal(asked, tt.again) {
				t.Errorf("the next session asked %v, want %v", asked, tt.again)
			}
		})
	}
}

// TestFailoverInherited: a child has the list of its caller, and passes over what has failed there.
func TestFailoverInherited(t *testing.T) {
	away := &model.Error{Model: "m", Kind: model.ErrUnavailable, Status: 500, Message: "away"}
	sells := &market{fails: map[string]error{}}
	e := newEnv(t, nil, func(o *session.Options) { o.Model = sells.get })
	parent := e.open(session.Spec{Models: []string{"a", "b", "c"}})
	child := e.open(session.Spec{Parent: parent})
	sells.fails["a"] = away
	if out := child.Prompt(t.Context(), "go"); out.Text != "from b" {
		t.Errorf("the child: %+v", out)
	}
	sibling := e.open(session.Spec{Parent: parent})
	sells.take()
	sells.fails["b"] = away
	if out := sibling.Prompt(t.Context(), "go"); out.Text != "from c" || !slices.Equal(sells.take(), []string{"b", "c"}) {
		t.Errorf("the sibling: %+v", out)
	}
}
