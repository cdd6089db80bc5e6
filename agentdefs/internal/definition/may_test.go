package definition

import "testing"

func TestMay(t *testing.T) {
	for _, tt := range []struct{ fields, want string }{
		{"", "the workspace's rules"},
		{"permission: {}", "the workspace's rules"},
		{`permission: allow`, "anything"},
		{`permission: ask`, "asks: anything"},
		{`permission: deny`, "nothing"},
		{`permission: {"*": deny, task: deny}`, "nothing"},
		{`permission: {"*": deny, read_file: allow, grep: allow, glob: allow, list_dir: allow}`, "read, search"},
		{`permission: {"*": deny, read_file: allow, grep: allow}`, "read, grep"},
		{`permission: {"*": deny, web: allow}`, "web"},
		{`permission: {"*": deny, web_fetch: allow}`, "web"},
		{`permission: {"*": deny, read_file: allow, grep: allow, glob: allow, list_dir: allow, write_file: allow, edit_file: allow, shell_exec: ask}`, "read, search, write, edit; asks: shell"},
		{`permission: {"*": allow, shell_exec: deny}`, "anything else; never: shell"},
		{`permission: {"*": allow, edit: ask}`, "anything else; asks: write, edit"},
		{`permission: {"*": ask, read_file: allow, shell_exec: deny}`, "read; asks: anything else; never: shell"},
		{`permission: {shell_exec: deny}`, "never: shell; else the workspace's rules"},
		{`permission: {shell_exec: {"rm *": deny}}`, "never: shell (rm *); else the workspace's rules"},
		{`permission: {shell_exec: {"git *": allow, "git push *": ask}}`, "shell (git *); asks: shell (git push *); else the workspace's rules"},
		{`permission: {"*": deny, read_file: {"*": allow, "*.env": deny}, shell_exec: {"git diff": allow, "git diff *": allow, "git log *": allow}}`, "read (not *.env), shell (git diff *, git log *)"},
		{`permission: {"*": deny, shell_exec: {"git *": allow, "git push *": deny}}`, "shell (git *, not git push *)"},
		{`permission: {"*": deny, shell_exec: {"git log *": allow, "git *": deny}}`, "nothing"},
		{`permission: {"*": deny, shell_exec: {"*": ask, "git log *": allow, "rm *": deny}}`, "shell (git log *); asks: shell (not rm *)"},
		{`permission: {"*": allow, shell_exec: {"git push *": ask, "rm *": deny}}`, "shell (asks git push *, not rm *), anything else"},
		{`permission: {"*": deny, shell_exec: {"git push *": ask}}`, "asks: shell (git push *)"},
		{`permission: {"*": deny, shell_exec: {"go test *": allow, "go vet *": allow, "npm test *": allow, "cargo test *": allow, "pytest *": allow, "make test *": allow}}`, "shell (go test *, go vet *, npm test *, cargo test *, pytest *, …)"},
		{`permission: {"*": deny, shell_exec: {"a very long command that no table could hold in one of its cells": allow}}`, "shell (some)"},
		{`permission: {"*": {"*.md": allow}}`, "anything (*.md); else the workspace's rules"},
		{`permission: {"*": deny, "*_file": allow}`, "read, write, edit"},
		{`permission: {"*": deny, gh_issue: allow, "db_*": ask}`, "gh_issue; asks: db_*"},
		{"tools: Read, WebSearch, Skill, mcp__github__create_issue", "read, skills"},
		{"tools: Read, Grep, Glob, LS", "read, search"},
		{"tools: Bash(git:*), Read", "read, shell (git *)"},
		{"tools: '*'", "anything"},
		{"disallowedTools: mcp__*", "never: tools of MCP servers; else the workspace's rules"},
		{"readonly: true", "asks: shell; never: write, edit; else the workspace's rules"},
		{"permission: {task: deny}", "never: task; else the workspace's rules"},
	} {
		res := Parse("a.md", []byte("---\ndescription: x\n"+tt.fields+"\n---\nWork.\n"), Options{})
		if res.Def == nil {
			t.Fatalf("%s: refused, %v", tt.fields, res.Diagnostics)
		}
		if got := res.Def.May(); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.fields, got, tt.want)
		}
	}
}
