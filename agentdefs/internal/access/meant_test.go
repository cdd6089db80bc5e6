package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
	"github.com/agentworker/worker/permission"
)

// abilities are what a tool may do, as calls of ours.
var abilities = map[string]permission.Value{
	"read":        {Tool: "read_file", Text: "a.go"},
	"notebook":    {Tool: "read_file", Text: "a/b.ipynb"},
	"create":      {Tool: "write_file", Text: "a.go"},
	"change":      {Tool: "edit_file", Text: "a.go"},
	"cells":       {Tool: "edit_file", Text: "a/b.ipynb"},
	"run":         {Tool: "shell_exec", Text: "make"},
	"grep":        {Tool: "grep", Text: "."},
	"glob":        {Tool: "glob", Text: "."},
	"list":        {Tool: "list_dir", Text: "."},
	"fetch":       {Tool: "web_fetch", Text: "https://example.org"},
	"look up":     {Tool: "web_search", Text: "x"},
	"call agents": {Tool: "task", Text: "explore"},
	"server tool": {Tool: "gh_get", Text: "*"},
}

// foreignTools are tools of other programs, with what they can do there.
var foreignTools = []struct{ names, can string }{
	// Claude Code
	{"Read", "read, notebook"}, {"NotebookRead", "notebook"}, {"NotebookEdit", "cells"}, {"Write", "create"}, {"Edit MultiEdit", "change, cells"},
	{"Bash PowerShell", "run"}, {"BashOutput KillShell KillBash", ""}, {"Grep", "grep"}, {"Glob", "glob"}, {"LS", "list"},
	{"WebFetch", "fetch"}, {"WebSearch", "look up"}, {"Agent Task", "call agents"}, {"mcp__gh__get mcp__gh mcp__gh__*", "server tool"},
	{"TodoWrite Skill AskUserQuestion ExitPlanMode SlashCommand ToolSearch LSP SendMessage TaskOutput TaskStop Monitor EnterWorktree CronCreate", ""},
	// opencode
	{"read", "read, notebook"}, {"edit", "create, change, cells"}, {"write", "create"}, {"multiedit", "change, cells"}, {"patch apply_patch", "create, change, cells"},
	{"bash", "run"}, {"list", "list"}, {"webfetch", "fetch"}, {"websearch", "look up"}, {"task", "call agents"}, {"todowrite todoread skill lsp question doom_loop external_directory", ""},
	// Copilot and VS Code
	{"execute execute/runInTerminal runCommands runInTerminal shell powershell", "run"}, {"execute/getTerminalOutput execute/runTests read/terminalLastCommand", ""},
	{"search search/codebase codebase usages", "grep, glob, list"}, {"web", "fetch, look up"}, {"web/fetch fetch", "fetch"}, {"agent agent/runSubagent custom-agent", "call agents"},
	{"edit/editFiles editFiles edit/*", "create, change, cells"}, {"edit/createFile createFile create_file", "create"}, {"edit/editNotebook editNotebook", "cells"},
	{"read/readFile readFile", "read, notebook"}, {"search/fileSearch", "glob"}, {"read/problems vscode/askQuestions todo todos problems changes vscode/*", ""}, {"gh/get gh/*", "server tool"},
	// Gemini CLI and Qwen Code
	{"read_file read_many_files", "read, notebook"}, {"write_file WriteFile", "create"}, {"replace", "change, cells"}, {"run_shell_command ShellTool Shell", "run"},
	{"search_file_content grep_search", "grep"}, {"glob", "glob"}, {"list_directory", "list"}, {"web_fetch", "fetch"}, {"google_web_search", "look up"},
	{"mcp_gh_get mcp_gh_*", "server tool"}, {"save_memory write_todos activate_skill ask_user todo_write", ""},
	// Kiro
	{"fs_read", "read, notebook, grep, list"}, {"fs_write", "create, change, cells"}, {"execute_bash", "run"}, {"@gh/get @gh", "server tool"}, {"thinking knowledge todo_list", ""},
	// Factory
	{"Create", "create"}, {"ApplyPatch", "create, change, cells"}, {"Execute", "run"}, {"FetchUrl", "fetch"}, {"read-only", "read, notebook, grep, glob, list"},
	// Nobody's
	{"Frobnicate Shell-Linter", ""},
}

// TestNoMoreThanMeant holds that each tool of another program gives, where it is
// allowed, no more than it can do there, and takes, where it is denied, no less.
func TestNoMoreThanMeant(t *testing.T) {
	for _, tool := range foreignTools {
		can := strings.Split(tool.can, ", ")
		for name := range strings.FieldsSeq(tool.names) {
			for ability, value := range abilities {
				meant := slices.Contains(can, ability)
				for _, allowing := range []string{"tools: [%q]", "tools: %q", "tools: {\"*\": false, %q: true}", "permission: {\"*\": deny, %q: allow}"} {
					file := fmt.Sprintf(allowing, name)
					if got := decision(t, file, value); got == permission.Allow && !meant {
						t.Errorf("%s allows to %s", file, ability)
					}
				}
				for _, denying := range []string{"disallowedTools: [%q]", "disallowedTools: %q", "tools: {%q: false}", "permission: {%q: deny}", "permission: {\"*\": allow, %q: deny}", "tools: [%q]\ndisallowedTools: [%[1]q]"} {
					file := fmt.Sprintf(denying, name)
					if got := decision(t, file, value); got != permission.Deny && meant {
						t.Errorf("%s does not deny to %s", file, ability)
					}
				}
			}
		}
	}
}

// TestRestrictionsHold gives what must be denied, or at least not be allowed,
// by all that a file may say to restrict.
func TestRestrictionsHold(t *testing.T) {
	file := func(tool, text string) permission.Value { return permission.Value{Tool: tool, Text: text} }
	outside := func(tool, path string) permission.Value {
		return permission.Value{Tool: tool, Text: path, Abs: path, Kind: permission.Mentioned}
	}
	for _, tt := range []struct {
		fields string
		denied []permission.Value
	}{
		{"tools: {write: false}", []permission.Value{abilities["create"], abilities["change"]}},
		{"tools: {patch: false}", []permission.Value{abilities["create"], abilities["change"]}},
		{"tools: {write: false, edit: true}", []permission.Value{abilities["create"], abilities["change"]}},
		{"tools: {edit: true, multiedit: false}", []permission.Value{abilities["create"], abilities["change"]}},
		{"permission: {edit: deny, write: allow}", []permission.Value{abilities["create"], abilities["change"]}},
		{"permission: {write: deny, edit: allow}", []permission.Value{abilities["create"]}},
		{"permission: {patch: deny}", []permission.Value{abilities["create"], abilities["change"]}},
		{"approvalMode: plan", []permission.Value{abilities["create"], abilities["change"]}},
		{"approval-mode: plan", []permission.Value{abilities["create"], abilities["change"]}},
		{"permissionMode: delegate\npermission: {\"*\": allow}", []permission.Value{abilities["create"], abilities["change"], abilities["run"]}},
		{"sandbox_mode: read-only\npermission: {\"*\": allow}", []permission.Value{abilities["create"], abilities["change"]}},
		{"sandbox_mode: workspace-write\npermission: {\"*\": allow}", []permission.Value{outside("write_file", "/etc/x"), outside("edit_file", "/etc/x")}},
		{"permission: {external_directory: deny, \"*\": allow}", []permission.Value{outside("read_file", "/etc/passwd"), outside("write_file", "/etc/x"), outside("edit_file", "/")}},
		{"permission: {external_directory: {\"*\": deny, \"/tmp/*\": allow}, read: allow}", []permission.Value{outside("read_file", "/tmp/x"), outside("read_file", "/etc/x")}},
		{"permission: {external_directory: {\"/srv/*\": deny}}", []permission.Value{outside("read_file", "/srv/a/b"), outside("write_file", "/srv/a")}},
		{"permission: {external_directory: {\"~/.ssh/*\": deny}}", []permission.Value{outside("read_file", "/home/u/.ssh/id")}},
		{"permission: {read: {\"app/(auth)/**\": deny, \"app/[id]/**\": deny}}", []permission.Value{file("read_file", "app/(auth)/x.ts"), file("read_file", "app/[id]/x.ts"), file("read_file", "app/i/x.ts")}},
		{"permission: {bash: {\":(){ :|:& };:\": deny}}", []permission.Value{file("shell_exec", ":(){ :|:& };:")}},
		{"permission: {bash: {\"(?=x)*\": deny}}", []permission.Value{file("shell_exec", "(?=x) y")}},
		{"disallowedTools: Read(app/(auth)/**)", []permission.Value{file("read_file", "app/(auth)/x.ts")}},
		{"disallowedTools: Edit(src/**)", []permission.Value{file("edit_file", "src/a/b"), file("write_file", "src/a/b")}},
		{"disallowedTools: run_shell_command(rm -rf)", []permission.Value{file("shell_exec", "rm -rf"), file("shell_exec", "rm -rf /")}},
		{"disallowedTools: [Bash Write]", []permission.Value{abilities["run"], abilities["create"]}},
		{"disallowedTools: [Shell Script Linter]", []permission.Value{abilities["run"]}},
		{"excludeTools: [Bash]", []permission.Value{abilities["run"]}},
		{"read_only: true", []permission.Value{abilities["create"], abilities["change"]}},
	} {
		for _, v := range tt.denied {
			if got := decision(t, tt.fields, v); got != permission.Deny {
				t.Errorf("%q: %s of %q is %v, want deny", tt.fields, v.Tool, v.Text, got)
			}
		}
	}
	for _, tt := range []struct {
		fields string
		not    permission.Value // allowed
	}{
		{"tools: [Shell Script Linter, Read]", abilities["run"]},
		{"tools: [\"Shell Script Linter\"]", abilities["run"]},
		{"tools: Shell Script Linter", abilities["run"]},
		{"tools: Shell Script Linter, Read", abilities["run"]},
		{"tools: [Web Search]", abilities["grep"]},
		{"tools: Web Search, Read", abilities["grep"]},
		{"tools: [Read Bash]", abilities["run"]},
		{"sandbox_mode: read-only\npermission: {\"*\": allow}", abilities["run"]},
		{"permissionMode: plan\npermission: {\"*\": allow}", abilities["run"]},
		{"permissionMode: plan\ntools: Read, Bash", abilities["run"]},
		{"permission: {\"*\": ask, edit: deny, write: {\"*\": allow}}", abilities["create"]},
		{"permission: {\"*\": ask, NotebookEdit: {\"src/*\": allow}}", file("edit_file", "src/a.go")},
	} {
		if got := decision(t, tt.fields, tt.not); got == permission.Allow {
			t.Errorf("%q allows %s of %q", tt.fields, tt.not.Tool, tt.not.Text)
		}
	}
}

// decision returns what an agent's rules say of v, where the user's allow all.
func decision(t *testing.T, fields string, v permission.Value) permission.Action {
	t.Helper()
	d := parsedAgent(t, fields)
	if d == nil { // refused: nothing is done at all
		return permission.Deny
	}
	static, err := permission.NewRuleset()
	if err != nil {
		t.Fatal(err)
	}
	values := []permission.Value{v}
	if v.OnlyDenies() { // a command that reads the file
		static, err = permission.NewRuleset(permission.Rule{Tool: "other", Pattern: "*", Action: permission.Allow})
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, permission.Value{Tool: "other", Text: "x"})
	}
	return (&permission.Layers{Agents: []*permission.Ruleset{d.Permission}, Static: static}).Decide(values).Action
}

// TestRestrictionIgnored holds that a restriction without an effect is a
// warning, and an addition without one is not.
func TestRestrictionIgnored(t *testing.T) {
	for _, tt := range []struct {
		fields string
		want   bool
	}{
		{"hooks: {PreToolUse: [{matcher: Bash}]}", true},
		{"hooks: {preToolUse: [x]}", true},
		{"hooks: [a]", true},
		{"hooks: {PostToolUse: [{matcher: Bash}]}", false},
		{"hooks:", false},
		{"isolation: worktree", false},
		{"isolation: remote", true},
		{"isolation: [worktree]", true},
		{"sandbox_mode: read-only", false},
		{"sandbox_mode: workspace-write", false},
		{"sandbox: strict", true},
		{"approval_policy: untrusted", true},
		{"toolsSettings: {write: {allowedPaths: [src]}}", true},
		{"runConfig: {max_time_minutes: 5}", true},
		{"allowedPaths: [src]", true},
		{"deny: [Bash]", true},
		{"skills: [a]", false},
		{"mcpServers: [a]", false},
		{"memory: project", false},
		{"vibe: calm", false},
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + tt.fields + "\n---\nx"}, nil)
		got := false
		for _, d := range s.Diagnostics() {
			got = got || d.Severity == agentdefs.Warning && d.Code == "restriction-ignored"
		}
		if _, ok := s.Agent("a"); !ok || got != tt.want {
			t.Errorf("%q: served %v, %v; want a warning: %v", tt.fields, ok, s.Diagnostics(), tt.want)
		}
	}
}

func TestInfer(t *testing.T) {
	for field, want := range map[string]agentdefs.Mode{
		"infer: true": agentdefs.Subagent, "infer: false": agentdefs.Primary, "infer: perhaps": agentdefs.Primary, "infer: false\nmode: all": agentdefs.Primary,
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + field + "\n---\nx"}, nil)
		if d, ok := s.Agent("a"); !ok || d.Mode != want {
			t.Errorf("%q: %+v, want mode %s", field, d, want)
		}
	}
}

// parsedAgent returns the agent of a file with these fields, which may call
// agents; nil means the file is refused.
func parsedAgent(t *testing.T, fields string) *agentdefs.Definition {
	t.Helper()
	d, ok := parsedAgents[fields]
	if !ok {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + fields + "\n---\nx"}, &agentdefs.Options{Home: "/home/u", Nesting: true})
		d, _ = s.Agent("a")
		parsedAgents[fields] = d
	}
	return d
}

var parsedAgents = map[string]*agentdefs.Definition{}
