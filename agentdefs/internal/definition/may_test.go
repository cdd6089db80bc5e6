package definition

import (
	"testing"

	"github.com/agentworker/worker/permission"
)

func TestMay(t *testing.T) {
	for _, tt := range []struct{ fields, want string }{
		{"", "read, search, write, edit, skills; asks: anything else"},
		{"permission: {}", "read, search, write, edit, skills; asks: anything else"},
		{`permission: allow`, "read, search, write, edit, skills; asks: anything else"},
		{`permission: ask`, "asks: anything"},
		{`permission: deny`, "nothing"},
		{`permission: {"*": deny, task: deny}`, "nothing"},
		{`permission: {"*": deny, read_file: allow, grep: allow, glob: allow, list_dir: allow}`, "read, search"},
		{`permission: {"*": deny, read_file: allow, grep: allow}`, "read, grep"},
		{`permission: {"*": deny, web: allow}`, "asks: web"},
		{`permission: {"*": deny, web_fetch: allow}`, "asks: web"},
		{`permission: {"*": deny, read_file: allow, grep: allow, glob: allow, list_dir: allow, write_file: allow, edit_file: allow, shell_exec: ask}`, "read, search, write, edit; asks: shell"},
		{`permission: {"*": allow, shell_exec: deny}`, "read, search, write, edit, skills; asks: anything else; never: shell"},
		{`permission: {"*": allow, edit: ask}`, "read, search, skills; asks: anything else"},
		{`permission: {"*": ask, read_file: allow, shell_exec: deny}`, "read; asks: anything else; never: shell"},
		{`permission: {shell_exec: deny}`, "read, search, write, edit, skills; asks: anything else; never: shell"},
		{`permission: {shell_exec: {"rm *": deny}}`, "read, search, write, edit, skills; asks: shell (not rm *), anything else"},
		{`permission: {shell_exec: {"git *": allow, "git push *": ask}}`, "read, search, write, edit, skills; asks: anything else"},
		{`permission: {"*": deny, read_file: {"*": allow, "*.env": deny}, shell_exec: {"git diff": allow, "git diff *": allow, "git log *": allow}}`, "read (not *.env); asks: shell (git diff *, git log *)"},
		{`permission: {"*": deny, shell_exec: {"git *": allow, "git push *": deny}}`, "asks: shell (git *, not git push *)"},
		{`permission: {"*": deny, shell_exec: {"git log *": allow, "git *": deny}}`, "nothing"},
		{`permission: {"*": deny, shell_exec: {"*": ask, "git log *": allow, "rm *": deny}}`, "asks: shell (not rm *)"},
		{`permission: {"*": allow, shell_exec: {"git push *": ask, "rm *": deny}}`, "read, search, write, edit, skills; asks: shell (not rm *), anything else"},
		{`permission: {"*": deny, shell_exec: {"git push *": ask}}`, "asks: shell (git push *)"},
		{`permission: {"*": deny, shell_exec: {"go test *": allow, "go vet *": allow, "npm test *": allow, "cargo test *": allow, "pytest *": allow, "make test *": allow}}`, "asks: shell (go test *, go vet *, npm test *, cargo test *, pytest *, …)"},
		{`permission: {"*": deny, shell_exec: {"a very long command that no table could hold in one of its cells": allow}}`, "asks: shell (some)"},
		{`permission: {"*": {"*.md": allow}}`, "read, search, write, edit, skills; asks: anything else"},
		{`permission: {"*": deny, "*_file": allow}`, "read, write, edit"},
		{`permission: {"*": deny, gh_issue: allow, "db_*": ask}`, "asks: gh_issue, db_*"},
		{"tools: Read, WebSearch, Skill, mcp__github__create_issue", "read, skills"},
		{"tools: Read, Grep, Glob, LS", "read, search"},
		{"tools: Bash(git:*), Read", "read; asks: shell (git *)"},
		{"tools: '*'", "read, search, write, edit, skills; asks: anything else"},
		{"disallowedTools: mcp__*", "read, search, write, edit, skills; asks: shell, web"},
		{"readonly: true", "read, search, skills; asks: anything else; never: write, edit"},
		{"permission: {task: deny}", "read, search, write, edit, skills; asks: anything else; never: task"},
	} {
		res := Parse("a.md", []byte("---\ndescription: x\n"+tt.fields+"\n---\nWork.\n"), Options{})
		if res.Def == nil {
			t.Fatalf("%s: refused, %v", tt.fields, res.Diagnostics)
		}
		if got := res.Def.May(permission.Layers{Defaults: permission.Defaults()}); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.fields, got, tt.want)
		}
	}
}

// TestMayByAllRules: the rules of people and policies count here, as in a call.
func TestMayByAllRules(t *testing.T) {
	parsed := Parse("a.md", []byte("---\ndescription: x\npermission: {\"*\": allow, shell_exec: {\"*\": ask, \"rm *\": deny}}\n---\nWork.\n"), Options{})
	rules := func(text string) *permission.Ruleset {
		set, err := permission.ParseJSON([]byte(text), "rules", nil)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	for _, tt := range []struct {
		name   string
		layers permission.Layers
		want   string
	}{
		{"nothing but the agent", permission.Layers{}, "anything else; asks: shell (not rm *)"},
		{"the defaults", permission.Layers{Defaults: permission.Defaults()}, "read, search, write, edit, skills; asks: shell (not rm *), anything else"},
		{"a person", permission.Layers{Defaults: permission.Defaults(), Static: rules(`{"shell_exec": {"go test *": "allow", "rm *": "allow"}, "web_fetch": "allow", "edit_file": {"docs/*": "deny"}}`)},
			"read, search, write, edit (not docs/*), shell (go test *), web, skills; asks: shell (not rm *), anything else"},
		{"a policy", permission.Layers{Policies: []*permission.Ruleset{rules(`{"write_file": "deny", "shell_exec": {"git push *": "deny"}}`)}, Defaults: permission.Defaults()},
			"read, search, edit, skills; asks: shell (not git push *, not rm *), anything else; never: write"},
		{"a repository", permission.Layers{Repository: rules(`{"read_file": {"vendor/*": "ask"}}`), Defaults: permission.Defaults()},
			"read (asks vendor/*), search, write, edit, skills; asks: shell (not rm *), anything else"},
		{"a caller", permission.Layers{Agents: []*permission.Ruleset{rules(`{"*": "deny", "read_file": "allow"}`)}, Defaults: permission.Defaults()}, "read"},
	} {
		if got := parsed.Def.May(tt.layers); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}
