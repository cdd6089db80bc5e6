package instructions_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs/instructions"
)

// about lists the names of the files about a path.
func about(s *instructions.Set, path string, may func(string) error) string {
	var names []string
	for _, f := range s.About(path, may) {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

func anything(string) error { return nil }

// TestScopedRules: a rule with patterns is given with a file that one of them matches, and with no other.
func TestScopedRules(t *testing.T) {
	for _, tt := range []struct{ file, head, match, other string }{
		{".claude/rules/a.md", `paths: ["src/**/*.{ts,tsx}", "lib/x.go"]`, "src/a/b.tsx lib/x.go", "a.ts src/a.go lib/y.go"},
		{".claude/rules/a.md", "paths: \"*.md\"", "README.md", "docs/README.md"},
		{".claude/rules/a.md", "paths: /src/**", "src/a.go", "lib/src/a.go"},
		{".claude/rules/a.md", "paths: ../*.go, *.js", "a.js", "a.go"},
		{".cursor/rules/a.mdc", "globs: *.ts, web/**/*.tsx\nalwaysApply: false", "a.ts deep/er/a.ts web/a.tsx", "a.tsx lib/a.tsx"},
		{".cursor/rules/a.mdc", "globs: [\"*.sql\"]", "a/b.sql", "b.go"},
		{".github/instructions/a.instructions.md", "applyTo: '**/*.ts,**/*.tsx'", "a.ts x/y/a.tsx", "a.go"},
		{".github/instructions/a.instructions.md", "applyTo: '*.py'", "a.py", "x/a.py"},
		{".kiro/steering/a.md", "inclusion: fileMatch\nfileMatchPattern: [\"backend/**/*.py\", \"*.sql\"]", "backend/a.py x/a.sql", "a.py"},
		{".kiro/steering/a.md", "inclusion: manual\nfileMatchPattern: '*.py'", "", "a.py"},
	} {
		dir := workspace(t, map[string]string{tt.file: "---\n" + tt.head + "\n---\nthe rule"})
		s := instructions.NewReader(dir, nil).Current()
		if len(s.Given) > 0 {
			t.Errorf("%s: %s: given from the start", tt.file, tt.head)
		}
		for path := range strings.FieldsSeq(tt.match) {
			if got := about(s, path, anything); got != tt.file {
				t.Errorf("%s: %s: %q is about %s; %v", tt.file, tt.head, got, path, s.Diagnostics())
			}
		}
		for path := range strings.FieldsSeq(tt.other) {
			if got := about(s, path, anything); got != "" {
				t.Errorf("%s: %s: %q is about %s", tt.file, tt.head, got, path)
			}
		}
	}
}

// TestAbout: the files of folders come before rules, imports behind what imports them, and nothing
// comes that all agents are given, or that the rules of the session refuse.
func TestAbout(t *testing.T) {
	dir := workspace(t, map[string]string{
		"AGENTS.md": "top", "lib/CLAUDE.md": "lib", "lib/deep/AGENTS.md": "deep",
		".cursor/rules/a.mdc":  "---\nglobs: *.go\n---\n@b.md",
		".cursor/rules/b.md":   "imported",
		".cursor/rules/c.mdc":  "---\nglobs: *.go\n---\ntop",
		".claude/rules/go.md":  "---\npaths: '**/*.go'\n---\nclaude @gone.md",
		".claude/rules/bad.md": "---\npaths: '!x.go'\n---\nx",
	})
	s := instructions.NewReader(dir, nil).Current()
	if got := about(s, "lib/deep/x.go", anything); got != "lib/CLAUDE.md lib/deep/AGENTS.md .claude/rules/go.md .cursor/rules/b.md" {
		t.Errorf("%q", got)
	}
	if got := about(s, "../x.go", anything); got != "" {
		t.Errorf("outside: %q", got)
	}
	may := func(path string) error {
		if strings.HasPrefix(path, ".cursor/") || strings.HasPrefix(path, "lib/deep") {
			return errors.New("no")
		}
		return nil
	}
	if got := about(s.Keep(may), "lib/deep/x.go", may); got != "lib/CLAUDE.md .claude/rules/go.md" {
		t.Errorf("with rules: %q", got)
	}
	var notes []string
	for _, f := range s.About("lib/x.go", anything) {
		notes = append(notes, f.Note())
	}
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "about files below lib.") || !strings.Contains(all, "about the files **/*.go.") {
		t.Errorf("%s", all)
	}
	found := fmt.Sprint(s.Diagnostics())
	if !strings.Contains(found, `"!x.go" begins with !`) || !strings.Contains(found, "@gone.md is not read") {
		t.Errorf("%s", found)
	}
}

// TestKinds: the files of a kind are given if the kind is named, and none of them otherwise.
func TestKinds(t *testing.T) {
	files := map[string]string{
		"AGENTS.md": "agents", "CLAUDE.md": "claude", ".github/copilot-instructions.md": "copilot",
		".cursor/rules/a.mdc": "---\nalwaysApply: true\n---\ncursor", ".kiro/steering/a.md": "kiro",
		"lib/AGENTS.md": "agents below", "lib/CLAUDE.md": "claude below",
		".github/instructions/a.instructions.md": "---\napplyTo: lib/**\n---\ncopilot about",
		".cursor/rules/b.mdc":                    "---\nglobs: lib/**\n---\ncursor about",
	}
	for kinds, want := range map[string]string{
		"":            "; ",
		"agents":      "AGENTS.md; lib/AGENTS.md",
		"claude":      "CLAUDE.md; lib/CLAUDE.md",
		"copilot":     ".github/copilot-instructions.md; .github/instructions/a.instructions.md",
		"cursor kiro": ".cursor/rules/a.mdc .kiro/steering/a.md; .cursor/rules/b.mdc",
	} {
		s := instructions.NewReader(workspace(t, files), &instructions.Options{Kinds: strings.Fields(kinds)}).Current()
		var names []string
		for _, f := range s.Given {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " ") + "; " + about(s, "lib/x.go", anything); got != want {
			t.Errorf("%q: %s, want %s", kinds, got, want)
		}
	}
}
