package taskt_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/taskt"
)

// TestWorkspaceInstructions: agents get the current AGENTS.md when they begin (O10).
func TestWorkspaceInstructions(t *testing.T) {
	var system string
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		system = req.System
		return answer("ok")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, nil)
	for _, content := range []string{"", "Use tabs.", "Use four blanks."} {
		if content != "" {
			if err := os.WriteFile(filepath.Join(e.folder, "AGENTS.md"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore"}); res.Err != nil {
			t.Fatal(res.Err)
		}
		if said := strings.Contains(system, "(AGENTS.md):\n\n"+content+"\n"); said != (content != "") || strings.Count(system, "AGENTS.md") != min(1, len(content)) {
			t.Errorf("AGENTS.md is %q, and the system prompt:\n%s", content, system)
		}
	}
}

// TestWithheldInstructions: an agent is given no import that its rules deny, by whatever name, and
// its session says so. An agent without read_file is given the others.
func TestWithheldInstructions(t *testing.T) {
	var system string
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		system = req.System
		return answer("ok")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, map[string]string{
		"held.md": agentFile("permission:\n  read_file:\n    \"secret/**\": deny"),
		"deaf.md": agentFile("tools: []"),
	})
	for name, content := range map[string]string{"AGENTS.md": "Begin. @by-link/keys.md @open.md", "secret/keys.md": "KEY", "open.md": "OPEN"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(e.folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(e.folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret", filepath.Join(e.folder, "by-link")); err != nil {
		t.Fatal(err)
	}
	for agent, held := range map[string]bool{"held": true, "deaf": false} {
		res := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: agent})
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		if !strings.Contains(system, "\nOPEN\n") || strings.Contains(system, "\nKEY\n") == held {
			t.Errorf("%s is given:\n%s", agent, system)
		}
		if warned := strings.Contains(strings.Join(res.Record.Warnings, " "), "secret/keys.md: it is not given to the agent"); warned != held {
			t.Errorf("%s: warnings %q", agent, res.Record.Warnings)
		}
	}
}
