package scan_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// foreignFiles are one agent in each folder of another tool.
var foreignFiles = map[string]string{
	".opencode/agent/deep/one.md":          "---\ndescription: x\npermission:\n  bash: {\"git push *\": deny}\n  read: {\"app/[id]/*\": allow}\n---\nWork.",
	".opencode/agents/two.md":              "---\ndescription: x\nmode: subagent\n---\nWork.",
	".github/agents/three.agent.md":        "---\ndescription: x\n---\nWork.",
	".gemini/agents/four.md":               "---\nname: four\ndescription: x\n---\nWork.",
	".gemini/agents/_shared.md":            "---\ndescription: x\n---\nWork.",
	".gemini/agents/sub/none.md":           "---\ndescription: x\n---\nWork.",
	".cursor/agents/five.md":               "---\ndescription: x\nreadonly: true\n---\nWork.",
	".qwen/agents/six.md":                  "---\ndescription: x\napprovalMode: plan\n---\nWork.",
	".kiro/agents/seven.json":              "{\n\t\"description\": \"x \\ud83d\\ude00\",\n\t\"prompt\": \"Work.\",\n\t\"tools\": [\"read\", \"shell\"],\n\t\"allowedTools\": [\"read\", \"write\"]\n}",
	".kiro/agents/eight.md":                "---\ndescription: x\nallowedTools: [read]\n---\nWork.",
	".factory/droids/nine.md":              "---\ndescription: x\ntools: read-only\n---\nWork.",
	".codex/agents/ten.toml":               "name = \"ten\"\ndescription = \"x\"\nsandbox_mode = \"read-only\"\nmodel_reasoning_effort = \"high\"\ndeveloper_instructions = \"\"\"\nWork.\n\"\"\"\n[mcp_servers.gh]\ncommand = \"gh\"\n",
	"packages/x/.claude/agents/pkg.md":     "---\ndescription: x\n---\nWork.",
	"node_modules/y/.claude/agents/not.md": "---\ndescription: x\n---\nWork.",
}

func TestUnread(t *testing.T) {
	home := t.TempDir()
	agentdefstest.Write(t, home, map[string]string{".claude/agents/mine.md": "---\ndescription: x\n---\nWork."})
	s := agentdefstest.Load(t, foreignFiles, &agentdefs.Options{ToolsHome: home})
	got := map[string]string{}
	for _, u := range s.Unread() {
		got[u.From] += fmt.Sprintf(" %s:%d", strings.TrimPrefix(u.Folder, filepath.ToSlash(home)+"/"), u.Files)
	}
	want := map[string]string{
		"opencode": " .opencode/agent:1 .opencode/agents:1", "github": " .github/agents:1", "gemini": " .gemini/agents:1", "cursor": " .cursor/agents:1",
		"qwen": " .qwen/agents:1", "kiro": " .kiro/agents:2", "factory": " .factory/droids:1", "codex": " .codex/agents:1",
		"claude-user": " .claude/agents:1", "packages": " packages/x/.claude/agents:1",
	}
	if !maps.Equal(got, want) {
		t.Errorf("unread %v\nwant %v", got, want)
	}
	if codes := agentdefstest.Codes(s); !slices.Equal(codes, []string{"folders-unread"}) || len(s.Agents()) != 2 {
		t.Errorf("%v, %d agents; want one diagnostic, and the built-in ones", s.Diagnostics(), len(s.Agents()))
	}
	all := agentdefstest.Load(t, foreignFiles, &agentdefs.Options{ToolsHome: home, From: []string{"all"}})
	if len(all.Unread()) > 0 || slices.Contains(agentdefstest.Codes(all), "folders-unread") {
		t.Errorf("all are read: %v", all.Unread())
	}
	if none := agentdefstest.Load(t, nil, nil); len(none.Unread()) > 0 {
		t.Errorf("%v in an empty workspace", none.Unread())
	}
}

// TestFrom holds that each dialect keeps its meaning.
func TestFrom(t *testing.T) {
	home := t.TempDir()
	agentdefstest.Write(t, home, map[string]string{".claude/agents/mine.md": "---\ndescription: x\n---\nWork."})
	s := agentdefstest.Load(t, foreignFiles, &agentdefs.Options{ToolsHome: home, From: []string{"all"}})
	var got []string
	for _, d := range s.Agents() {
		if d.BuiltIn {
			continue
		}
		rules := strings.TrimSuffix(strings.TrimSuffix(agentdefstest.Rules(d), "task deny"), "; ")
		got = append(got, fmt.Sprintf("%s %s %d %v %q [%s]", d.Name, d.Mode, d.MaxSteps, d.Timeout, d.Prompt, rules))
	}
	want := []string{
		`deep/one all 100 0s "Work." [shell_exec(git push *) deny; shell_exec(git push) deny; read_file(app/\[id\]/*) allow]`,
		`eight subagent 100 0s "Work." [* deny; read_file allow]`,
		`five subagent 100 0s "Work." [shell_exec ask; write_file deny; edit_file deny]`,
		`four subagent 30 10m0s "Work." []`,
		`mine subagent 100 0s "Work." []`,
		`nine subagent 100 0s "Work." [* deny; read_file allow; grep allow; glob allow; list_dir allow]`,
		`pkg subagent 100 0s "Work." []`,
		`seven subagent 100 0s "Work." [* deny; read_file ask; read_file allow; shell_exec ask]`,
		`six subagent 100 0s "Work." [shell_exec ask; write_file deny; edit_file deny]`,
		`ten subagent 100 0s "Work." [shell_exec ask; write_file deny; edit_file deny]`,
		`three subagent 100 0s "Work." []`,
		`two subagent 100 0s "Work." []`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("agents\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d, _ := s.Agent("ten"); d == nil || d.Effort != "high" {
		t.Errorf("%+v, want effort high", d)
	}
}

// TestFromOrder holds that the workspace's own folder comes last.
func TestFromOrder(t *testing.T) {
	named := func(text string) string { return "---\nname: a\ndescription: x\n---\n" + text }
	files := map[string]string{".github/agents/a.md": named("github"), ".opencode/agent/a.md": named("opencode"), ".claude/agents/a.md": named("claude")}
	for from, want := range map[string]string{"": "claude", "github,opencode": "claude"} {
		if d, _ := agentdefstest.Load(t, files, &agentdefs.Options{From: strings.Split(from, ",")}).Agent("a"); d == nil || d.Prompt != want {
			t.Errorf("%q: %+v, want that of %s", from, d, want)
		}
	}
	delete(files, ".claude/agents/a.md")
	for from, want := range map[string]string{"github,opencode": "opencode", "opencode,github": "github", "all": "github"} {
		if d, _ := agentdefstest.Load(t, files, &agentdefs.Options{From: strings.Split(from, ",")}).Agent("a"); d == nil || d.Prompt != want {
			t.Errorf("%q: %+v, want that of %s", from, d, want)
		}
	}
	both := map[string]string{".agents/agents/a.md": named("own"), ".claude/agents/b.md": "---\ndescription: x\n---\nx"}
	s := agentdefstest.Load(t, both, &agentdefs.Options{From: []string{"claude"}})
	if _, ok := s.Agent("b"); !ok || slices.Contains(agentdefstest.Codes(s), "directory-shadowed") {
		t.Errorf("both folders: b is served %v, %v", ok, s.Diagnostics())
	}
	if s := agentdefstest.Load(t, map[string]string{".claude/agents/b.md": "---\ndescription: x\n---\nx"}, &agentdefs.Options{From: []string{"all"}}); slices.Contains(agentdefstest.Codes(s), "agent-shadows") {
		t.Errorf("read twice: %v", s.Diagnostics())
	}
}

// TestFromReload holds that folders of other tools are followed as others are.
func TestFromReload(t *testing.T) {
	root := t.TempDir()
	r, err := agentdefs.Open(t.Context(), root, &agentdefs.Options{From: []string{"codex"}, PollEvery: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := filepath.Join(root, ".codex", "agents")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"description = \"one\"\n", "description = \"two\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, "a.tmp"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "a.tmp"), filepath.Join(dir, "a.toml")); err != nil {
			t.Fatal(err)
		}
		want := []string{"one", "two"}[i]
		for c := range r.Changes(t.Context()) {
			if d, ok := c.Snapshot.Agent("a"); ok && d.Description == want {
				break
			}
		}
	}
}

// TestUnreadableForms holds that a file of another form which cannot be read is
// refused, and takes its name with it.
func TestUnreadableForms(t *testing.T) {
	for file, text := range map[string]string{
		".codex/agents/explore.toml": "description = \"x\"\nsandbox_mode = [\n",
		".codex/agents/general.toml": "description = \"x\"\ntools = [\"Read\", {a = 1}]\n",
		".kiro/agents/explore.json":  "{\"description\": \"x\", }",
		".kiro/agents/general.json":  "[1]",
		".kiro/agents/other.json":    "{\"description\": \"x\", \"tools\": [\"read\"], \"tools\": [\"*\"]}",
	} {
		s := agentdefstest.Load(t, map[string]string{file: text}, &agentdefs.Options{From: []string{"codex", "kiro"}})
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if d, ok := s.Agent(name); ok || !slices.Contains(agentdefstest.Codes(s), "permission-invalid") {
			t.Errorf("%s: served %+v, %v", file, d, s.Diagnostics())
		}
	}
}

func TestSubfolderUnread(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{".agents/agents/a.md": "---\ndescription: x\n---\nx", ".agents/agents/sub/b.md": "---\ndescription: x\n---\nx", ".agents/agents/docs/c.txt": "x"}, nil)
	if codes := agentdefstest.Codes(s); !slices.Equal(codes, []string{"subfolder-unread"}) || s.Diagnostics()[0].File != ".agents/agents/sub" {
		t.Errorf("%v, want that sub is not read", s.Diagnostics())
	}
}

func TestNearestField(t *testing.T) {
	for field, want := range map[string]string{"maxStep: 3": "maxSteps", "temprature: 1": "temperature", "agnets: x": "agents", "tags: x": "", "version: 1": "", "category: x": ""} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": "---\ndescription: x\n" + field + "\n---\nx"}, nil)
		got := ""
		for _, d := range s.Diagnostics() {
			if d.Code == "field-unknown" && d.Severity == agentdefs.Warning && d.Line == 3 {
				got = d.Fix
			}
		}
		if (want == "") != (got == "") || want != "" && !strings.Contains(got, want+" ") {
			t.Errorf("%q: %v, want %q", field, s.Diagnostics(), want)
		}
	}
}

func TestIndentation(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
		want string
	}{
		{"---\ndescription: x\npermission:\n  bash: deny\n\tedit: deny\n---\nx", 5, "a tab in the indentation"},
		{"---\ndescription: x\ntools:\n\t- Read\n---\nx", 4, "a tab in the indentation"},
		{"---\ndescription: x\npermission:\n  bash: deny\n edit: deny\n---\nx", 5, "the indentation is wrong"},
		{"---\ndescription: x\npermission:\n  bash: deny\n   edit: deny\n---\nx", 5, "the indentation is wrong"},
		{"---\ndescription: x\n mode: all\n---\nx", 3, "the indentation is wrong"},
	} {
		s := agentdefstest.Load(t, map[string]string{".claude/agents/a.md": tt.text}, nil)
		found := false
		for _, d := range s.Diagnostics() {
			found = found || d.Code == "yaml-invalid" && d.Line == tt.line && strings.Contains(d.Message, tt.want)
		}
		if !found {
			t.Errorf("%q: %v, want %q in line %d", tt.text, s.Diagnostics(), tt.want, tt.line)
		}
	}
}
