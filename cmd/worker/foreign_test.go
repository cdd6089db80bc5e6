//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// foreign makes a repository with 39 agent files of three other tools. They name models and tools
// that are not here, and some are not valid YAML.
func foreign(t *testing.T) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	roles := []string{
		"code-reviewer", "documentation-engineer", "security-auditor", "test-automator", "api-designer", "release-manager", "database-optimizer",
		"accessibility-tester", "performance-engineer", "refactoring-specialist", "dependency-manager", "incident-responder", "ux-researcher",
	}
	for i, role := range roles {
		for _, f := range []struct{ path, text string }{
			{".claude/agents/" + role + ".md", "---\nname: " + role + "\ndescription: Use this agent: it is the " + role + " of the team, to be called after each change.\ntools: Read, Grep, WebSearch, mcp__jira__search\nmodel: opus\n---\nWork.\n"},
			{".github/agents/" + role + ".agent.md", "---\ndescription: The " + role + " of the pull requests.\ntools: ['read', 'search/codebase', 'github/*']\nmodel: GPT-5 (copilot)\n---\nWork.\n"},
			{".opencode/agents/" + role + ".md", fmt.Sprintf("---\ndescription: The %s.\nmode: subagent\nmodel: anthropic/claude-sonnet-4-%d\ntools:\n  write: false\n  webfetch: true\n---\nWork.\n", role, i)},
		} {
			at := filepath.Join(dir, f.path)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(f.text), 0o644); err != nil {
				t.Fatal(err)
			}
			files = append(files, f.path)
		}
	}
	return dir, files
}

// TestForeignRepository: a new user without a key lists 39 agents of other tools on a terminal
// of 80 columns. They are told apart by their files, and what is wrong is counted.
func TestForeignRepository(t *testing.T) {
	t.Parallel()
	dir, files := foreign(t)
	s := onScreen(t, dir, 80, 24, "agents", "list", "--agents-from", "all")
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(s.ended(0), "\r", "")), "\n")
	lines = lines[slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "NAME") }):] // diagnostics come before
	if len(lines) > 60 {
		t.Errorf("%d lines", len(lines))
	}
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "SOURCE") {
		t.Error("there is no column SOURCE")
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("a line is wider than the terminal: %q", line)
		}
	}
	for _, file := range files {
		if !strings.Contains(text, file) {
			t.Errorf("%s is not there", file)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	for _, args := range [][]string{
		{"agents", "list"}, {"agents", "list", "--agents-from", "all"}, {"doctor"}, {"sessions", "list", "--agents-from", "all"},
	} {
		_, errs := ranIn(t, dir, args...)
		if n := strings.Count(errs, "\n"); n > 3 {
			t.Errorf("%s prints %d lines on stderr:\n%s", args, n, errs)
		}
	}
	out, _ := ranIn(t, dir, "agents", "lint", "--agents-from", "all")
	seen := make(map[string]bool)
	for line := range strings.SplitSeq(out, "\n") {
		if seen[line] && line != "" {
			t.Errorf("it is told twice: %s", line)
		}
		seen[line] = true
	}
}

// ranIn runs the program in a folder.
func ranIn(t *testing.T, dir string, args ...string) (out, errs string) {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environOf(dir), &stdout, &stderr
	_ = cmd.Run() // some report by their status that something is wrong
	return stdout.String(), stderr.String()
}

// TestServeTellsOnce: what breaks an agent file while a worker serves it is one line, and so are
// its repair, and the markers of a merge conflict.
func TestServeTellsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := startModel(t, `{"match": {"user": "x"}, "text": "x"}`)
	file := filepath.Join(dir, ".agents/agents/a.md")
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	good := "---\ndescription: Does it.\n---\nWork.\n"
	save(good)
	p := startServing(t, dir, model.URL)
	p.listens()
	save("---\ndescription: [Does it.\npermission: {x\n---\nWork.\n")
	first := p.line("a.md")
	save(good)
	second := p.line("a.md")
	save("---\ndescription: Does it.\n---\n<<<<<<< HEAD\nWork.\n=======\nRest.\n>>>>>>> b\n")
	third := p.line("a.md")
	p.signal(syscall.SIGTERM)
	rest := p.ends(0)
	if strings.Contains(rest, "a.md") {
		t.Errorf("after\n%s\n%s\n%s\nit says more:\n%s", first, second, third, rest)
	}
	for i, want := range []string{"stays in force", "it is served again", "merge conflict"} {
		if said := []string{first, second, third}[i]; !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
}

// line returns the next line that the process prints with a text.
func (p *servedProcess) line(text string) string {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), text) {
			return p.lines.Text()
		}
	}
	p.t.Fatalf("it has ended without %q", text)
	return ""
}
