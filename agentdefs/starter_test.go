package agentdefs_test

import (
	"path"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
	"github.com/agentworker/worker/permission"
)

// TestStarters loads each starter file, alone and beside the others.
func TestStarters(t *testing.T) {
	files := map[string]string{}
	for _, role := range append(agentdefs.Roles(), "") {
		name := ""
		if role == "" {
			name = "helper"
		}
		text, err := agentdefs.Starter(role, name)
		if err != nil {
			t.Fatal(err)
		}
		files[path.Join(".agents/agents", role+name+".md")] = text
		if role != "" && !strings.Contains(text, "\nSUMMARY\n") {
			t.Errorf("%s: no section SUMMARY", role)
		}
	}
	s := agentdefstest.Load(t, files, nil)
	if len(s.Diagnostics()) > 0 || len(s.Agents()) != len(files)+2 {
		t.Errorf("%d agents, diagnostics %v; want %d and none", len(s.Agents()), s.Diagnostics(), len(files)+2)
	}
	may := map[string]string{
		"plan":        "read (not *.env), search",
		"review":      "read (not *.env), search; asks: shell (git diff *, git log *, git show *, git status *, …)",
		"implementer": "read (not *.env), search, write (not *.env), edit (not *.env); asks: shell (not git push, not git push *, not git reset *--hard*, …)",
		"verifier":    "read (not *.env), search; asks: shell",
		"helper":      "read (not *.env), search",
	}
	for name, want := range may {
		d, ok := s.Agent(name)
		if !ok || d.May(permission.Layers{Defaults: permission.Defaults()}) != want || d.Mode != agentdefs.Subagent || d.Prompt == "" {
			t.Errorf("%s: %q, want %q", name, d.May(permission.Layers{Defaults: permission.Defaults()}), want)
		}
	}
}

// TestStarterRules holds what the roles promise.
func TestStarterRules(t *testing.T) {
	for _, tt := range []struct {
		role, tool, value string
		want              permission.Action
	}{
		{"plan", "read_file", "main.go", permission.Allow},
		{"plan", "read_file", "config/.env", permission.Deny},
		{"plan", "shell_exec", "ls", permission.Deny},
		{"plan", "write_file", "a", permission.Deny},
		{"review", "shell_exec", "git diff main", permission.Allow},
		{"review", "shell_exec", "git status", permission.Allow},
		{"review", "shell_exec", "git push", permission.Deny},
		{"review", "shell_exec", "go test ./...", permission.Deny},
		{"review", "edit_file", "a", permission.Deny},
		{"implementer", "edit_file", "a.go", permission.Allow},
		{"implementer", "write_file", ".env", permission.Deny},
		{"implementer", "shell_exec", "go build ./...", permission.Ask},
		{"implementer", "shell_exec", "git push origin main", permission.Deny},
		{"implementer", "shell_exec", "git reset --hard", permission.Deny},
		{"implementer", "shell_exec", "git reset --hard HEAD~1", permission.Deny},
		{"implementer", "shell_exec", "git clean -fdx", permission.Deny},
		{"verifier", "shell_exec", "go test ./...", permission.Allow},
		{"verifier", "shell_exec", "pytest", permission.Allow},
		{"verifier", "shell_exec", "curl x", permission.Ask},
		{"verifier", "write_file", "a", permission.Deny},
	} {
		text, err := agentdefs.Starter(tt.role, "")
		if err != nil {
			t.Fatal(err)
		}
		d, _ := agentdefstest.Load(t, map[string]string{".agents/agents/" + tt.role + ".md": text}, nil).Agent(tt.role)
		layers := permission.Layers{Agents: []*permission.Ruleset{d.Permission}}
		if got := layers.Decide([]permission.Value{{Tool: tt.tool, Text: tt.value}}); got.Action != tt.want {
			t.Errorf("%s: %s %q: %v, want %v", tt.role, tt.tool, tt.value, got.Action, tt.want)
		}
	}
}

func TestStarterNames(t *testing.T) {
	for _, tt := range []struct {
		role, name string
		err        string // empty means none
	}{
		{"", "a", ""},
		{"review", "Reviewer", ""},
		{"review", "null", ""},
		{"", "", "needs a name"},
		{"boss", "", "no role"},
		{"", "a/b", "path separator"},
		{"", `a\b`, "path separator"},
		{"", ".a", "dot"},
		{"", "..", "dot"},
		{"", "a\nb", "control"},
		{"", " a", "blank"},
		{"", " ", "empty"},
		{"", "a.md", ".md"},
		{"", strings.Repeat("ä", 150), "bytes"},
		{"", strings.Repeat("a", 201), "characters"},
	} {
		text, err := agentdefs.Starter(tt.role, tt.name)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("role %q, name %q: %v, want an error with %q", tt.role, tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("role %q, name %q: %v", tt.role, tt.name, err)
			continue
		}
		d, ok := agentdefstest.Load(t, map[string]string{".agents/agents/" + tt.name + ".md": text}, nil).Agent(tt.name)
		if !ok {
			t.Errorf("role %q: no agent %q in\n%s", tt.role, tt.name, text)
			continue
		}
		if len(d.Aliases) > 0 {
			t.Errorf("role %q, name %q: aliases %q, want none: the role's own agent may have them", tt.role, tt.name, d.Aliases)
		}
	}
}
