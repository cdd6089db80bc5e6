package agentdefs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestPlugins has plugins of each kind in one workspace.
func TestPlugins(t *testing.T) {
	agent := func(name string) string { return "---\nname: " + name + "\ndescription: x\n---\nWork." }
	files := map[string]string{
		"plugin.json":                          `{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "top"}`,
		"agents/own.md":                        agent("own"),
		"dev.agentworker/agents/ours.md":       agent("ours"),
		"com.github.copilot/agents/c.agent.md": agent("c"),
		".claude-plugin/marketplace.json": `{"name": "m", "metadata": {"pluginRoot": "./plugins"}, "plugins": [
			{"name": "qa", "source": "./qa"}, {"name": "bare", "source": "bare", "agents": ["./only.md"]}, {"name": "far", "source": {"source": "github", "repo": "a/b"}},
			{"name": "out", "source": "../../out"}, {"name": "abs", "source": "/etc"}]}`,
		"plugins/qa/.claude-plugin/plugin.json": `{"name": "quality", "agents": "./more/"}`,
		"plugins/qa/agents/sub/reviewer.md":     agent("reviewer"),
		"plugins/qa/more/tester.md":             agent("tester"),
		"plugins/bare/only.md":                  agent("only"),
		"plugins/bare/agents/own.md":            agent("own"),
		"plugins/unnamed/agents/not.md":         agent("not"),
	}
	root := t.TempDir()
	agentdefstest.Write(t, root, files)
	opts := &agentdefs.Options{From: []string{"plugins"}}
	s, err := agentdefs.Load(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	names := slices.DeleteFunc(agentdefstest.Names(s.Agents()), func(name string) bool { return !strings.Contains(name, ":") })
	if want := []string{"bare:only", "bare:own", "quality:reviewer", "quality:tester", "top:c", "top:ours", "top:own"}; !slices.Equal(names, want) {
		t.Errorf("agents %q, want %q; %v", names, want, s.Diagnostics())
	}
	if d, _ := s.Resolve("Reviewer"); d == nil || d.Name != "quality:reviewer" || d.MaxSteps != 100 || d.File != "plugins/qa/agents/sub/reviewer.md" {
		t.Errorf("Reviewer is %+v", d)
	}
	if d, candidates := s.Resolve("own"); d != nil || len(candidates) != 2 {
		t.Errorf("own is %+v, of %q", d, candidates)
	}
	steer, err := agentdefs.Files(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{".claude-plugin/marketplace.json", "plugins/qa/.claude-plugin/plugin.json", "plugins/qa/more", "plugins/qa/agents", "plugins/bare/only.md", "plugin.json", "agents"} {
		if !slices.Contains(steer, filepath.Join(root, filepath.FromSlash(file))) {
			t.Errorf("%s is none of the files that steer agents: %q", file, steer)
		}
	}
	unread := agentdefstest.Load(t, files, nil).Unread()
	total := 0
	for _, u := range unread {
		if u.From == "plugins" {
			total += u.Files
		}
	}
	if total != 7 {
		t.Errorf("unread %v, want 7 agents of plugins", unread)
	}
}

// TestFiles holds that a prompt in a file of its own is among what steers agents.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	agentdefstest.Write(t, root, map[string]string{"opencode.json": `{"agent": {"a": {"description": "x", "prompt": "{file:./p.txt}"}}}`, "p.txt": "x"})
	files, err := agentdefs.Files(root, &agentdefs.Options{From: []string{"opencode"}})
	if err != nil || !slices.Contains(files, filepath.Join(root, "p.txt")) {
		t.Errorf("%q, %v", files, err)
	}
	if !slices.Contains(agentdefs.Folders(), "opencode.json") {
		t.Errorf("%q has no opencode.json", agentdefs.Folders())
	}
}
