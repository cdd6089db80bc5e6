package access_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// TestAccess gives the rules that fields amount to, before "task: deny".
func TestAccess(t *testing.T) {
	for _, tt := range accessCases {
		t.Run(tt.fields, func(t *testing.T) {
			file := "---\ndescription: Does it.\n" + tt.fields + "\n---\nWork.\n"
			s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": file}, &agentdefs.Options{Home: "/home/u"})
			got := refused
			if d, ok := s.Agent("a"); ok {
				got = strings.TrimSuffix(strings.TrimSuffix(agentdefstest.Rules(d), "task deny"), "; ")
			}
			if got != tt.want {
				t.Errorf("%q: rules %q, want %q; %v", tt.fields, got, tt.want, s.Diagnostics())
			}
			if codes := relevant(s); tt.code == "" && len(codes) > 0 || tt.code != "" && !slices.Contains(codes, tt.code) {
				t.Errorf("%q: diagnostics %v, want %q", tt.fields, s.Diagnostics(), tt.code)
			}
		})
	}
}

const refused = "refused"

// accessCases are the fields of a file, and the rules that they mean.
var accessCases = []struct {
	fields string
	want   string // the rules, or refused
	code   string // a diagnostic that comes with them; empty means none at all
}{
	{"", "", ""},
	{"permission: {}", "", ""},
	{"permission: {\"*\": deny, read_file: allow}", "* deny; read_file allow", ""},
	{"permission:\n  shell_exec:\n    \"*\": ask\n    \"git *\": allow\n  read_file: {\"*.env\": deny}", "shell_exec ask; shell_exec(git *) allow; read_file(*.env) deny", ""},
	{"permission: {bash: deny, edit: ask, Edit: allow, webfetch: deny}", "shell_exec deny; write_file ask; edit_file ask; edit_file allow; web_fetch deny", ""},
	{"permission: {mcp__gh__get: allow, gh_*: ask, doom_loop: ask}", "gh_get allow; gh_* ask; doom_loop ask", "tool-no-counterpart"},
	{"permission: deny", "* deny", ""},
	{"permission: {shel_exec: deny}", "shel_exec deny", "tool-unknown"},
	{"permission: {shell-exec: deny}", "shell-exec deny", "tool-unknown"},
	{"permission: {gh_get: deny, Frobnicate: deny}", "gh_get deny; Frobnicate deny", ""},
	{"permissions: {shell_exec: deny}", "shell_exec deny", "field-misspelled"},
	{"permision: {shell_exec: deny}", "shell_exec deny", "field-misspelled"},
	{"permisions: {shell_exec: deny}", "shell_exec deny", "field-misspelled"},
	{"alowed-tools: Read", "* deny; read_file allow", "field-misspelled"},
	{"readonyl: true", "shell_exec ask; write_file deny; edit_file deny", "field-misspelled"},
	{"Permission: {shell_exec: deny}", "shell_exec deny", "field-misspelled"},
	{"tools: [Read, MCP_DOCKER/*]", "* deny; read_file allow; mcp_docker_* allow", ""},
	{"tools: Read\ntools: Read", "* deny; read_file allow", "field-duplicate"},
	{"tools: [Read, Grep]\ntools: [Read, Grep]", "* deny; read_file allow; grep allow", "field-duplicate"},
	{"permission: {bash: deny}\npermission: {bash: deny}", "shell_exec deny", "field-duplicate"},
	{"tools: Read\ntools: Grep", refused, "permission-invalid"},
	{"tools: [Read, Grep]\ntools: [Grep, Read]", refused, "permission-invalid"},
	{"tools: Read\nallowed-tools: Read", refused, "permission-invalid"},
	{"permissions: [{action: shell, resource: \"*\", effect: deny}]", refused, "permission-invalid"}, // opencode's alone
	{"permission:", refused, "permission-invalid"},
	{"permission: [a]", refused, "permission-invalid"},
	{"permission: {shell_exec: alow}", refused, "permission-invalid"},
	{"permission: {shell_exec: deny, shell_exec: allow}", refused, "permission-invalid"},
	{"permission: {shell_exec: {a: deny, a: allow}}", refused, "permission-invalid"},
	{"permission: {\"(?=a)b\": deny}", refused, "permission-invalid"},
	{"permission: {read_file: {\"~/x\": deny}}", "read_file(/home/u/x) deny", ""},
	{"permission: {shell_exec: !!binary ZGVueQ==}", refused, "permission-invalid"},
	{"permission: {shell_exec: deny}\npermissions: {}", refused, "permission-invalid"},
	{"x: &a {shell_exec: allow}\npermission: *a", refused, "permission-invalid"},
	{"x: &a {shell_exec: allow}\npermission: {<<: *a}", refused, "permission-invalid"},
	{"x: &a {permission: {}}\n<<: *a", refused, "permission-invalid"},
	{"permission:\n\tshell_exec: deny", refused, "permission-invalid"},
	{"? [a]\n: b", refused, "permission-invalid"},
	{"!!merge x: {permission: {\"*\": allow}}", refused, "permission-invalid"},
	{"!!binary cGVybWlzc2lvbg==: {\"*\": deny}", refused, "permission-invalid"},

	// Names that look like others, or have characters in them that cannot be seen.
	{"permission\u200b: deny", "* deny", "field-misspelled"},
	{"\ufeffpermission: deny", "* deny", "field-misspelled"},
	{"permission\u00a0: deny", "* deny", "field-misspelled"},
	{"ｔｏｏｌｓ: Read", "* deny; read_file allow", "field-misspelled"},
	{"permíssion: deny", "* deny", "field-misspelled"},
	{"permission: deny\npermission\u2060: allow", refused, "permission-invalid"},
	{"\u0440ermission: deny", refused, "permission-invalid"},
	{"t\u043e\u043els: Read", refused, "permission-invalid"},
	{"dis\u0430ble: true", refused, "permission-invalid"},
	{"描述描述描: x", "", "field-unsupported"},
	{"toosl: Read", "* deny; read_file allow", "field-misspelled"},
	{"caler: boss", "", "field-misspelled"},

	{"tools: Read, Grep", "* deny; read_file allow; grep allow", ""},
	{"tools: Read Grep", "* deny; read_file allow; grep allow", ""},
	{"tools: [Read, Grep]", "* deny; read_file allow; grep allow", ""},
	{"tools:\n- Read\n- Grep", "* deny; read_file allow; grep allow", ""},
	{"tools: []", "* deny", ""},
	{"tools:", "* deny", "field-type"},
	{"tools: *", "* deny; * allow", "field-repaired"},
	{"tools: ['*']", "* deny; * allow", ""},
	{"tools:\n\t- Read\n\t- \"Grep\"", "* deny; read_file allow; grep allow", "field-repaired"},
	{"allowedTools: [read_file, todo, mcp__gh__issues]", "* deny; read_file allow; todo allow; gh_issues allow", ""},
	{"allowedTools: [read_file, reed_file]", refused, "permission-invalid"},
	{"allowedTools: read_file, Skill", "* deny; read_file allow; skill allow", ""},
	{"allowedTools: []", "* deny", ""},
	{"allowed-tools: Read", "* deny; read_file allow", "field-misspelled"},
	{"tools: EDIT", "* deny; edit_file allow", ""},
	{"tools: edit", "* deny; write_file allow; edit_file allow", ""},
	{"tools: [search/codebase, edit/editFiles, vscode/askQuestions]", "* deny; grep allow; glob allow; list_dir allow; write_file allow; edit_file allow; ask_user allow", ""},
	{"tools: [web, execute, agent]", "* deny; web_fetch allow; web_search allow; shell_exec allow; task allow", ""},
	{"tools: [search_file_content, run_shell_command, save_memory]", "* deny; grep allow; shell_exec allow", "tool-no-counterpart"},
	{"tools: TodoWrite, Read", "* deny; todo allow; read_file allow", ""},
	{"tools: Skill, Read", "* deny; skill allow; read_file allow", ""},
	{"tools: [activate_skill, LSP]", "* deny; skill allow", "tool-no-counterpart"},
	{"disallowedTools: [TodoRead, update_plan]", "todo deny; plan deny", ""},
	{"tools: Frobnicate, Read", "* deny; read_file allow", "tool-unknown"},
	{"tools: Frobnicate", "* deny", "tools-none-recognized"},
	{"tools: [{name: Read}]", "* deny; read_file allow", ""},
	{"tools: [{name: Bash, only: git}, Read]", "* deny; read_file allow", "tool-unknown"},
	{"tools: Bash(git:*), Bash(npm test), Bash(*)", "* deny; shell_exec(git) allow; shell_exec(git *) allow; shell_exec(npm test) allow; shell_exec allow", ""},
	{"tools: Bash(git log *)", "* deny; shell_exec(git log) allow; shell_exec(git log *) allow", ""},
	{"tools: Bash(git {a,b}:*), Bash(./run *.sh)", `* deny; shell_exec(git \{a,b\}) allow; shell_exec(git \{a,b\} *) allow; shell_exec(\./run *.sh) allow`, ""},
	{"tools: Bash(:*), Read", "* deny; read_file allow", "tool-unknown"},
	{"tools: Read(src/**), Read(*.go)", "* deny; read_file(src/**) allow; read_file(*.go) allow", ""},
	{"tools: Read(src/*), Grep", "* deny; grep allow", "tool-unknown"},
	{"tools: WebFetch(domain:example.org), Grep", "* deny; web_fetch(https://example.org/*) allow; web_fetch(http://example.org/*) allow; grep allow", ""},
	{"tools: WebFetch(domain:*.example.org)", "* deny; web_fetch(https://+([a-z0-9.-]).example.org/*) allow; web_fetch(http://+([a-z0-9.-]).example.org/*) allow", ""},
	{"tools: WebFetch(domain:a/b), WebFetch(https://example.org), Grep", "* deny; grep allow", "tool-unknown"},
	{"disallowedTools: WebFetch(domain:*.example.org)", "web_fetch(https://*.example.org/*) deny; web_fetch(http://*.example.org/*) deny; web_fetch(https://*.example.org:*/*) deny; web_fetch(http://*.example.org:*/*) deny", ""},
	{"tools: \"Agent(a, b), Read\"", "* deny; task(a) allow; task(b) allow; read_file allow", ""},
	{"tools: mcp__gh__get-issue, mcp__pg, mcp__fs__*, ctx/*, ctx/get, mcp_a_b, mcp__gh__list_*", "* deny; gh_get_issue allow; pg_* allow; fs_* allow; ctx_* allow; ctx_get allow; a_b allow; gh_list_* allow", ""},
	{"tools: mcp__read, Grep", "* deny; grep allow", "tool-unknown"},
	{"tools: mcp__*, Grep", "* deny; grep allow", "tool-unknown"},
	{"tools: mcp**gh**get, Grep", "* deny; gh_get allow; grep allow", ""},
	{"tools: Bash(git, Read", refused, "permission-invalid"},
	{"tools: Bash (git:*)", refused, "permission-invalid"},
	{"tools: [Read, [Grep]]", refused, "permission-invalid"},
	{"tools: Read\ntools: Grep", refused, "permission-invalid"},
	{"tools: {read: true, write: false, bash: off, edit: true, my_tool: false}", "read_file allow; write_file deny; edit_file deny; shell_exec deny; my_tool deny", "tool-unknown"},
	{"tools: {\"*\": false, \"gh_*\": true}", "* deny; gh_* allow", ""},
	{"tools: {edit: true, write: false}", "write_file deny; edit_file deny", ""},
	{"tools: {edit: false, write: true}", "write_file deny; edit_file deny; write_file allow", ""},
	{"permission: {\"r\u0435ad_file\": deny}", refused, "permission-invalid"},
	{"tools: {\"writ\u0435\": false}", refused, "permission-invalid"},
	{"tools: {read: perhaps}", refused, "permission-invalid"},
	{"tools: {read: {a: b}}", refused, "permission-invalid"},
	{"tools: {bash: true}\npermission: {bash: ask}", "shell_exec allow; shell_exec ask", ""},

	{"tools: NotebookEdit, NotebookRead", "* deny; edit_file(*.ipynb) allow; read_file(*.ipynb) allow", ""},
	{"tools: Read, BashOutput, KillShell", "* deny; read_file allow", "tool-no-counterpart"},
	{"tools: Read, Bash, BashOutput, KillShell", "* deny; read_file allow; shell_exec allow", ""},
	{"tools: Read, Bash, Monitor, exec_shell_wait, exec_shell_interact, KillBash", "* deny; read_file allow; shell_exec allow", ""},
	{"tools: shell_exec, shell_output, shell_stop", "* deny; shell_exec allow", ""},
	{"tools: [\"Shell Script Linter\", Read]", "* deny; read_file allow", "tool-unknown"},
	{"tools: Shell Script Linter", "* deny", "tools-none-recognized"},
	{"tools: Read Bash(git log *) Grep", "* deny; read_file allow; shell_exec(git log) allow; shell_exec(git log *) allow; grep allow", ""},
	{"tools: Read(app/(auth)/**)", `* deny; read_file(app/\(auth\)/**) allow`, ""},
	{"tools: NotebookEdit(nb/x.ipynb), NotebookEdit(src/a.go)", "* deny; edit_file(nb/x.ipynb) allow", "tool-unknown"},
	{"tools: read-only", "* deny; read_file allow; grep allow; glob allow; list_dir allow", ""},
	{"tools: {write: false}", "write_file deny; edit_file deny", ""},
	{"tools: {patch: false, edit: true}", "write_file deny; edit_file deny", ""},
	{"permission: {external_directory: deny}", `read_file(\/**) deny; write_file(\/**) deny; edit_file(\/**) deny`, ""},
	{"permission: {external_directory: ask}", "", ""},
	{"permission: {external_directory: never}", refused, "permission-invalid"},
	{"permission: {external_directory: {a: [b]}}", refused, "permission-invalid"},
	{"permission: {read: {\"app/(auth)/**\": deny}}", `read_file(app/(auth)/**) deny; read_file(app/\(auth\)/**) deny`, ""},
	{"permission: {read: {\"app/(auth)/**\": allow}}", "read_file(app/(auth)/**) allow", ""},
	{"permission: {bash: {\":(){ :|:& };:\": deny}}", `shell_exec(:\(\)\{ :\|:& \};:) deny`, "pattern-literal"},
	{"permission: {bash: {\":(){ :|:& };:\": allow}}", refused, "permission-invalid"},

	{"disallowedTools: BashOutput", "shell_exec deny", ""},
	{"disallowedTools: Monitor", "shell_exec deny", ""},
	{"disallowedTools: exec_shell_interact", "shell_exec deny", ""},
	{"disallowedTools: NotebookEdit", "edit_file(*.ipynb) deny", ""},
	{"disallowedTools: Bash, mcp__gh", "shell_exec deny; gh_* deny", ""},
	{"tools: Read, Bash\ndisallowedTools: [Bash(rm:*)]", "* deny; read_file allow; shell_exec allow; shell_exec(rm) deny; shell_exec(rm *) deny", ""},
	{"disallowedTools: Bash(:*)", "shell_exec deny", "tool-unknown"},
	{"disallowedTools: Bash([ -f *)", `shell_exec(\[ -f) deny; shell_exec(\[ -f *) deny`, ""},
	{"disallowedTools: Read(.env)", "read_file(.env) deny; read_file(.env/**) deny; read_file(**/.env) deny; read_file(**/.env/**) deny", ""},
	{"disallowedTools: Read(//etc/passwd)", "read_file(/etc/passwd) deny; read_file(/etc/passwd/**) deny", ""},
	{"disallowedTools: Read(/src/gen/)", "read_file(src/gen) deny; read_file(src/gen/**) deny", ""},
	{"disallowedTools: Read(//../etc)", "read_file deny", "tool-unknown"},
	{"disallowedTools: mcp__*", "!(read_file|grep|glob|list_dir|write_file|edit_file|shell_exec|web_fetch|web_search|task|skill) deny", ""},
	{"disallowedTools: '*'", "* deny", ""},
	{"disallowedTools: Frobnicate", "Frobnicate deny", "tool-unknown"},
	{"disallowedTools: Web*", refused, "permission-invalid"},
	{"disallowedTools: !!binary QmFzaA==", refused, "permission-invalid"},
	{"disallowedTools: {bash: true}", refused, "permission-invalid"},

	{"permissionMode: default", "", ""},
	{"permissionMode: plan", "shell_exec ask; write_file deny; edit_file deny", ""},
	{"permissionMode: dontAsk\npermission: {grep: allow, glob: ask}", "* deny; grep allow; glob deny", ""},
	{"permissionMode: bypassPermissions", "", "permission-widening-ignored"},
	{"permissionMode: acceptEdits", "", "permission-widening-ignored"},
	{"permissionMode: ask", "", ""},
	{"permissionMode: bubble", "", ""},
	{"permissionMode: Plan", "shell_exec ask; write_file deny; edit_file deny", ""},
	{"permissionMode: delegate", "write_file deny; edit_file deny; shell_exec deny", ""},
	{"permissionMode: sometimes", refused, "permission-invalid"},
	{"permissionMode: [plan]", refused, "permission-invalid"},

	{"approvalMode: plan", "shell_exec ask; write_file deny; edit_file deny", ""},
	{"approvalMode: yolo", "", "permission-widening-ignored"},
	{"approvalMode: {a: b}", refused, "permission-invalid"},
	{"aprovalMode: plan", "shell_exec ask; write_file deny; edit_file deny", "field-misspelled"},
	{"sandbox_mode: read-only", "shell_exec ask; write_file deny; edit_file deny", ""},
	{"sandbox_mode: workspace-write", `write_file(\/**) deny; edit_file(\/**) deny`, ""},
	{"sandbox_mode: danger-full-access", "", "permission-widening-ignored"},
	{"sandbox_mode: sometimes", refused, "permission-invalid"},

	{"readonly: false", "", ""},
	{"readonly: true", "shell_exec ask; write_file deny; edit_file deny", ""},
	{"readonly: true\npermission: {\"*\": allow, shell_exec: {\"git *\": allow, \"rm *\": deny}}", "shell_exec ask; * allow; shell_exec ask; shell_exec(git *) ask; shell_exec(rm *) deny; write_file deny; edit_file deny", ""},
	{"readonly: true\npermission: {\"{shell_exec,x}\": allow, \"read_*\": allow}", "shell_exec ask; {shell_exec,x} allow; shell_exec ask; read_* allow; write_file deny; edit_file deny", ""},
	{"readonly: perhaps", refused, "permission-invalid"},
	{"agents: ['*']", "", ""},
	{"agents: [a]", "", ""},
	{"agents: {a: b}", "task deny", "field-unsupported"},
	{"agents:", "task deny", "field-unsupported"},
}

// relevant returns the codes of s that somebody would act on.
func relevant(s *agentdefs.Snapshot) []string {
	return slices.DeleteFunc(agentdefstest.Codes(s), func(code string) bool { return code == "yaml-invalid" })
}

// TestRulePlaces holds that a rule says where it comes from, and a diagnostic
// where to look.
func TestRulePlaces(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{
		".claude/agents/a.md": "---\ndescription: x\ntools:\n  - Read\npermission:\n  bash: deny\n---\nx",
		".claude/agents/b.md": "\n    ---\n    description: x\n    permission:\n      bash: never\n    ---\n    x",
	}, nil)
	a, ok := s.Agent("a")
	if !ok {
		t.Fatal(s.Diagnostics())
	}
	var lines []int
	for r := range a.Permission.Rules() {
		lines = append(lines, r.Source.Line)
		if r.Source.Line > 0 && r.Source.File != ".claude/agents/a.md" {
			t.Errorf("%+v, want file .claude/agents/a.md", r)
		}
	}
	if want := []int{3, 4, 6, 0}; !slices.Equal(lines, want) {
		t.Errorf("rules of lines %v, want %v", lines, want)
	}
	for _, d := range s.Diagnostics() {
		if d.Code == "permission-invalid" && (d.File != ".claude/agents/b.md" || d.Line != 5 || strings.Contains(d.Message, ".md")) {
			t.Errorf("%v, want it in line 5 of b.md, said once", d)
		}
	}
	if _, ok := s.Agent("b"); ok || !slices.Contains(agentdefstest.Codes(s), "permission-invalid") {
		t.Errorf("b is served: %v; %v", ok, s.Diagnostics())
	}
}
