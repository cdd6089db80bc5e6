package agentdefs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestNotComplete: a new file without the end of its frontmatter is not served,
// however late the rest comes.
func TestNotComplete(t *testing.T) {
	whole := "---\nname: new\ndescription: A: \"b\nmodel: inherit\n# What it may do\npermission:\n  \"*\": allow\n  # but no shell\n  shell_exec: deny\n---\n# Role\nWork.\n"
	closed := len(whole) - len("---\n# Role\nWork.\n") + len("---")
	past := time.Now().Add(-time.Hour)
	for end := range len(whole) {
		s := agentdefstest.Load(t, map[string]string{".agents/agents/new.md": whole[:end]}, nil)
		if d, ok := s.Agent("new"); ok && (end < closed || !d.Permission.DeniesAll("shell_exec")) {
			t.Errorf("cut at %d, %q: served with rules %q", end, whole[:end], agentdefstest.Rules(d))
		} else if end < closed && end > 5 && !slices.Contains(agentdefstest.Codes(s), "permission-invalid") {
			t.Errorf("cut at %d: diagnostics %v, want an error", end, s.Diagnostics())
		}
	}

	// The same below a registry, with a pause that any writer may make.
	root := t.TempDir()
	file := filepath.Join(root, ".agents/agents/new.md")
	put(t, filepath.Join(root, ".agents/agents/b.md"), agent("B", "b"))
	l := openT(t, root, nil)
	put(t, file, whole[:60])
	must(t, os.Chtimes(file, past, past))
	s := l.until("it is read", func(s *agentdefs.Snapshot) bool { return slices.Contains(agentdefstest.Codes(s), "permission-invalid") })
	if _, ok := s.Agent("new"); ok {
		t.Error("it is served before it is closed")
	}
	put(t, file, whole)
	l.until("it is served", func(s *agentdefs.Snapshot) bool { _, ok := s.Agent("new"); return ok })
	for _, c := range l.changes {
		if d, ok := c.Snapshot.Agent("new"); ok && !d.Permission.DeniesAll("shell_exec") {
			t.Errorf("snapshot %d has rules %q", c.Snapshot.Version, agentdefstest.Rules(d))
		}
	}
}

// TestUnclosedForms: what is served of files without a closing fence, and what
// is not.
func TestUnclosedForms(t *testing.T) {
	const head = "---\ndescription: x\ntools: Read, Bash\n"
	for _, tt := range []struct {
		name, file string
		served     bool
	}{
		{"heading and text", head + "\n# Role\nWork well.\n", true},
		{"heading and items", head + "# Role\n- Work\n", false},
		{"heading alone", head + "# Role\n", false},
		{"comment and a field", head + "# Role\ncolor: red\n", false},
		{"comment and a field's beginning", head + "# Role\ndisallowedT", false},
		{"two comments", head + "# Role\n# Other\n", false},
		{"dots", head + "...\nWork.", true},
		{"dots at the end", head + "...", false},
		{"text on the fence", head + "---Work.", true},
		{"nothing", head, false},
		{"nothing, unopened", head[4:], false},
		{"nothing but a text, unopened", head[4:] + "prompt: Work.\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := agentdefstest.Load(t, map[string]string{".agents/agents/a.md": tt.file}, nil)
			d, ok := s.Agent("a")
			if ok != tt.served {
				t.Errorf("served: %v, want %v; %v", ok, tt.served, s.Diagnostics())
			}
			if ok && tt.name == "nothing but a text, unopened" && (!d.Permission.DeniesAll("shell_exec") || !d.Permission.DeniesAll("read_file")) {
				t.Errorf("rules %q, want none that allow", agentdefstest.Rules(d))
			}
			if !slices.Contains(agentdefstest.Codes(s), "frontmatter-unclosed") {
				t.Errorf("diagnostics %v", s.Diagnostics())
			}
		})
	}
}
