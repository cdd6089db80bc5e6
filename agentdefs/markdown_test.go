package agentdefs_test

import (
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestMarkdown writes agents of other tools in our own form. Each must mean the same there.
func TestMarkdown(t *testing.T) {
	s := agentdefstest.Load(t, listFiles, &agentdefs.Options{From: []string{"all"}})
	out := map[string]string{}
	were := map[string]*agentdefs.Definition{}
	for _, d := range s.Agents() {
		if d.BuiltIn {
			continue
		}
		text, err := agentdefs.Markdown(d, "")
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		out[".agents/agents/"+d.Name+".md"], were[d.Name] = text, d
	}
	again := agentdefstest.Load(t, out, nil)
	for name, was := range were {
		d, ok := again.Agent(name)
		if !ok {
			t.Errorf("%s is not served: %v\n%s", name, again.Diagnostics(), out[".agents/agents/"+name+".md"])
			continue
		}
		if d.Description != was.Description || d.Prompt != was.Prompt || d.Mode != was.Mode || d.MaxSteps != was.MaxSteps || d.Effort != was.Effort || d.Model != was.Model {
			t.Errorf("%s is %+v, was %+v", name, d, was)
		}
	}
	if len(were) < 9 {
		t.Errorf("%d agents", len(were))
	}
}
