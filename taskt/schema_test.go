package taskt_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/taskt"
)

func TestUnknownAgent(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, map[string]string{
		"boss.md": "---\ndescription: Leads.\nmode: primary\n---\n",
		"aide.md": "---\ndescription: Helps.\n---\n",
	})
	for _, name := range []string{"nobody", "boss", "explorer", ""} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: name})
		if res.Err == nil || res.SessionID != "" {
			t.Errorf("%q: %+v", name, res)
			continue
		}
		if want := "aide, explore, general"; name != "" && !strings.Contains(res.Text, want) {
			t.Errorf("%q: %q does not list %s", name, res.Text, want)
		}
		if !strings.HasPrefix(res.XML(), "<task_error agent=") {
			t.Errorf("%q: %s", name, res.XML())
		}
	}
}

func TestSchema(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, map[string]string{"aide.md": "---\ndescription: Helps with \"all\".\n---\n"})
	spec := e.spec()
	var got struct {
		Type       string
		Required   []string
		Properties map[string]struct {
			Type string
			Enum []string
		}
		AdditionalProperties any
	}
	if err := json.Unmarshal(spec.InputSchema, &got); err != nil {
		t.Fatal(err)
	}
	if spec.Name != "task" || got.Type != "object" || !slices.Equal(got.Required, []string{"description", "prompt", "agentType"}) ||
		!slices.Equal(got.Properties["agentType"].Enum, []string{"aide", "explore", "general"}) || got.AdditionalProperties == nil {
		t.Errorf("schema %s", spec.InputSchema)
	}
	if !strings.Contains(spec.Description, "- aide: Helps with \"all\".\n") {
		t.Errorf("description:\n%s", spec.Description)
	}
}
