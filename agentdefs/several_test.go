package agentdefs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// listFiles are files of several agents, in each form.
var listFiles = map[string]string{
	"opencode.jsonc": `{
  // What opencode has itself is only changed.
  "agent": {
    "build": {"model": "x/y"},
    "reviewer": {
      "description": "Reviews.",
      "mode": "subagent",
      "prompt": "{file:./prompts/review.txt}",
      "tools": {"write": false, "bash": true},
      "permission": {"bash": {"git push *": "deny"}},
    },
    "cheap": {"model": "x/y"},
  },
  "mode": {"talk": {"description": "Talks.", "prompt": "Talk."}}
}`,
	"prompts/review.txt":                "Look for what can break.\n",
	".codex/config.toml":                "model = \"gpt\"\n[agents]\nmax_threads = 3\n\n[agents.explorer]\ndescription = \"Explores.\"\nconfig_file = \"agents/explorer.toml\"\n\n[agents.awaiter]\ndescription = \"Waits.\"\n",
	".codex/agents/explorer.toml":       "sandbox_mode = \"read-only\"\nmodel_reasoning_effort = \"low\"\ndeveloper_instructions = \"Trace calls.\"\n",
	".roomodes":                         "customModes:\n  - slug: docs-writer\n    name: Documentation Writer\n    roleDefinition: You write docs. Nothing else.\n    whenToUse: For documentation.\n    customInstructions: Be brief.\n    groups:\n      - read\n      - - edit\n        - fileRegex: \\.(md|mdx)$\n          description: Markdown\n      - mcp\n  - slug: odd\n    roleDefinition: You are odd.\n    groups: [read, [edit, {fileRegex: '(?i)\\.md$'}], command, surf]\n",
	".kilocodemodes":                    `{"customModes": [{"slug": "asker", "name": "Asker", "roleDefinition": "You ask.", "groups": ["read"]}]}`,
	".kiro/agents/k.json":               `{"description": "x", "prompt": "file://./k.md", "tools": ["read"], "resources": ["file://README.md", "file://.kiro/steering/**/*.md", "file:///etc/passwd", "file://../x"]}`,
	".kiro/agents/k.md":                 "Kiro's words.",
	".agents/agents/own/AGENT.md":       "---\ndescription: x\n---\nOwn.",
	".deepagents/agents/deep/AGENTS.md": "---\nname: deep\ndescription: x\n---\nDeep.",
}

// TestLists holds what each form of a file with several agents means here.
func TestLists(t *testing.T) {
	s := agentdefstest.Load(t, listFiles, &agentdefs.Options{From: []string{"all"}})
	want := map[string]string{
		"reviewer":    `subagent 100 "Look for what can break." opencode.jsonc:5 [write_file deny; edit_file deny; shell_exec allow; shell_exec(git push *) deny; shell_exec(git push) deny; task deny]`,
		"talk":        `primary 100 "Talk." opencode.jsonc:14 []`,
		"explorer":    `subagent 100 "Trace calls." .codex/agents/explorer.toml:1 [shell_exec ask; write_file deny; edit_file deny; task deny]`,
		"awaiter":     `subagent 100 "" .codex/config.toml:9 [task deny]`,
		"docs-writer": `all 100 "You write docs. Nothing else.\n\nBe brief." .roomodes:2 [* deny; task allow; ask_user allow; todo allow; skill allow; read_file allow; grep allow; glob allow; list_dir allow; write_file(*.md) allow; write_file(*.mdx) allow; edit_file(*.md) allow; edit_file(*.mdx) allow; OTHERS allow]`,
		"odd":         `all 100 "You are odd." .roomodes:13 [* deny; task allow; ask_user allow; todo allow; skill allow; read_file allow; grep allow; glob allow; list_dir allow; shell_exec allow]`,
		"asker":       `all 100 "You ask." .kilocodemodes:1 [* deny; task allow; ask_user allow; todo allow; skill allow; read_file allow; grep allow; glob allow; list_dir allow]`,
		"k":           "subagent 100 \"Kiro's words.\\n\\nBefore you begin, read these files of the workspace. A pattern stands for all files that it matches.\\n- README.md\\n- .kiro/steering/**/*.md\" .kiro/agents/k.json:1 [* deny; read_file ask; task deny]",
		"own":         `subagent 10 "Own." .agents/agents/own/AGENT.md:2 [task deny]`,
		"deep":        `subagent 100 "Deep." .deepagents/agents/deep/AGENTS.md:2 [task deny]`,
	}
	for _, d := range s.Agents() {
		if d.BuiltIn {
			continue
		}
		rules := agentdefstest.Rules(d)
		if i := strings.Index(rules, "!("); i >= 0 {
			rules = rules[:i] + "OTHERS" + rules[i+strings.Index(rules[i:], ")")+1:]
		}
		if got := describe(d) + " [" + rules + "]"; got != want[d.Name] {
			t.Errorf("%s\n%s\nwant\n%s", d.Name, got, want[d.Name])
		}
		delete(want, d.Name)
	}
	for name := range want {
		t.Errorf("no agent %s: %v", name, s.Diagnostics())
	}
	if d, _ := s.Agent("docs-writer"); d == nil || d.Description != "For documentation." {
		t.Errorf("%+v, want what it is used for", d)
	}
	for _, u := range s.Unserved() {
		t.Errorf("unserved: %v", u)
	}
}

func describe(d *agentdefs.Definition) string {
	return strings.Join([]string{string(d.Mode), strconv.Itoa(d.MaxSteps), strconv.Quote(d.Prompt), d.File + ":" + strconv.Itoa(d.Line)}, " ")
}

// TestListsFailClosed has lists that can't be read in part. Nothing of that part is served.
func TestListsFailClosed(t *testing.T) {
	for name, tt := range map[string]struct {
		files   map[string]string
		from    string
		without []string // agents that are not served
		has     string   // in a diagnostic
	}{
		"broken":                         {map[string]string{"opencode.json": `{"agent": {`}, "opencode", []string{"explore", "general"}, "cannot be read"},
		"no object":                      {map[string]string{"opencode.json": `{"agent": []}`}, "opencode", []string{"explore"}, "not a mapping"},
		"twice":                          {map[string]string{"opencode.json": `{"agent": {"a": {"description": "x"}, "a": {"description": "y"}}}`}, "opencode", []string{"a"}, "which one counts"},
		"restricts one that is built in": {map[string]string{"opencode.json": `{"agent": {"general": {"permission": {"bash": "deny"}}}}`}, "opencode", []string{"general"}, "agent.general has no description"},
		"restricts another file's":       {map[string]string{"opencode.json": `{"agent": {"a": {"tools": {"write": false}}}}`, ".opencode/agent/a.md": "---\ndescription: x\n---\nx"}, "opencode", []string{"a"}, "what both say together is not clear"},
		"no prompt":                      {map[string]string{"opencode.json": `{"agent": {"a": {"description": "x", "prompt": "{file:./none.txt}"}}}`}, "opencode", []string{"a"}, "there is no such file"},
		"outside":                        {map[string]string{"opencode.json": `{"agent": {"a": {"description": "x", "prompt": "{file:/etc/hosts.txt}"}}}`}, "opencode", []string{"a"}, "cannot be read"},
		"a secret":                       {map[string]string{".kiro/agents/a.json": `{"description": "x", "prompt": "file://../../.env"}`, ".env": "KEY=1"}, "kiro", []string{"a"}, "ends in none of"},
		"a secret of TOML":               {map[string]string{".kiro/agents/a.json": `{"description": "x", "prompt": "file://../../credentials.toml"}`, "credentials.toml": "key = 1"}, "kiro", []string{"a"}, "ends in none of"},
		"a secret of TOML in a list":     {map[string]string{"opencode.json": `{"agent": {"a": {"description": "x", "prompt": "{file:credentials.toml}"}}}`, "credentials.toml": "key = 1"}, "opencode", []string{"a"}, "ends in none of"},
		"a role of Markdown":             {map[string]string{".codex/config.toml": "[agents.a]\ndescription = \"x\"\nconfig_file = \"a.md\"\n", ".codex/a.md": "Work."}, "codex", []string{"a"}, "ends in none of"},
		"no role":                        {map[string]string{".codex/config.toml": "[agents.a]\ndescription = \"x\"\nconfig_file = \"a.toml\"\n"}, "codex", []string{"a"}, "there is no such file"},
		"role above":                     {map[string]string{".codex/config.toml": "[agents.a]\ndescription = \"x\"\nconfig_file = \"../../../../../../../../etc/a.toml\"\n"}, "codex", []string{"a"}, "cannot be read"},
		"modes":                          {map[string]string{".roomodes": "customModes: {}\n"}, "roo", []string{"explore"}, "not a list"},
	} {
		t.Run(name, func(t *testing.T) {
			s := agentdefstest.Load(t, tt.files, &agentdefs.Options{From: []string{tt.from}})
			for _, name := range tt.without {
				if d, ok := s.Agent(name); ok {
					t.Errorf("%s is served: %+v", name, d)
				}
			}
			if !slices.ContainsFunc(s.Diagnostics(), func(d agentdefs.Diagnostic) bool { return strings.Contains(d.Message, tt.has) }) {
				t.Errorf("%v, want %q", s.Diagnostics(), tt.has)
			}
		})
	}
}

// TestModeEdits holds that a mode may write everywhere only where its file grants exactly that.
func TestModeEdits(t *testing.T) {
	for groups, tt := range map[string]struct{ paths, has string }{
		`[edit]`:                         {"*", ""},
		`["edit"]`:                       {"*", ""},
		`[[edit, {}]]`:                   {"*", ""},
		`[[edit, {description: all}]]`:   {"*", ""},
		`[[edit, {fileRegex: '\.md$'}]]`: {"*.md", ""},
		`[[edit, {fileRegex: '\.md$', description: y}]]`:   {"*.md", ""},
		`[[edit, {fileRegex: '\.md$'}, {description: y}]]`: {"", "not a word and one mapping"},
		`[[edit, {description: y}, {fileRegex: '\.md$'}]]`: {"", "not a word and one mapping"},
		`[[edit, '\.md$']]`:              {"", "not a word and one mapping"},
		`[[edit, ['\.md$']]]`:            {"", "not a word and one mapping"},
		`[[edit, null]]`:                 {"", "not a word and one mapping"},
		`[[edit]]`:                       {"", "not a word and one mapping"},
		`[[]]`:                           {"", "not a word and one mapping"},
		`[{edit: {fileRegex: '\.md$'}}]`: {"", "not a word and one mapping"},
		`{edit: {fileRegex: '\.md$'}}`:   {"", "not a list"},
		`edit`:                           {"", "not a list"},
		`[[edit, {fileregex: '\.md$'}]]`: {"", `"fileregex" is unknown`},
		`[[edit, {fileRegex: '\.md$', fileRegex: '.*'}]]`:                 {"", "fileRegex is there twice"},
		`[[edit, {fileRegex: }]]`:                                         {"", "can't be written as patterns"},
		`[[edit, {fileRegex: ['\.md$']}]]`:                                {"", "can't be written as patterns"},
		`[read, [edit, {fileRegex: '\.md$'}, {description: y}], command]`: {"", "not a word and one mapping"},
	} {
		t.Run(groups, func(t *testing.T) {
			s := agentdefstest.Load(t, map[string]string{".roomodes": "customModes:\n  - slug: m\n    roleDefinition: x\n    groups: " + groups + "\n"}, &agentdefs.Options{From: []string{"roo"}})
			d, ok := s.Agent("m")
			if !ok {
				t.Fatalf("not served: %v", s.Diagnostics())
			}
			want := "* deny; task allow; ask_user allow; todo allow; skill allow"
			rules := agentdefstest.Rules(d)
			for _, tool := range []string{"write_file", "edit_file"} {
				switch got := strings.Contains(rules, tool); {
				case got != (tt.paths != ""):
					t.Errorf("rules %q, want %q of %s", rules, tt.paths, tool)
				case tt.paths == "*" && !strings.Contains(rules, tool+" allow"), tt.paths != "" && tt.paths != "*" && !strings.Contains(rules, tool+"("+tt.paths+") allow"):
					t.Errorf("rules %q, want %q of %s", rules, tt.paths, tool)
				}
			}
			if !strings.HasPrefix(rules, want) {
				t.Errorf("rules %q, want them to begin %q", rules, want)
			}
			reported := slices.ContainsFunc(s.Diagnostics(), func(d agentdefs.Diagnostic) bool { return tt.has != "" && strings.Contains(d.Message, tt.has) })
			if reported != (tt.has != "") {
				t.Errorf("%v, want %q", s.Diagnostics(), tt.has)
			}
		})
	}
}

// TestListLinkOut holds that a link among the prompts does not lead out of the workspace.
func TestListLinkOut(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	agentdefstest.Write(t, out, map[string]string{"notes.txt": "private"})
	agentdefstest.Write(t, root, map[string]string{"opencode.json": `{"agent": {"a": {"description": "x", "prompt": "{file:./p/notes.txt}"}}}`})
	if err := os.Symlink(out, filepath.Join(root, "p")); err != nil {
		t.Fatal(err)
	}
	s, err := agentdefs.Load(root, &agentdefs.Options{From: []string{"opencode"}})
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := s.Agent("a"); ok {
		t.Errorf("served with the prompt %q", d.Prompt)
	}
}

// TestListReload changes a list and its prompt under a registry. A broken list keeps its agents.
func TestListReload(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		agentdefstest.Write(t, root, map[string]string{file + ".tmp": text})
		if err := os.Rename(filepath.Join(root, file+".tmp"), filepath.Join(root, file)); err != nil {
			t.Fatal(err)
		}
	}
	list := func(description string) string {
		return `{"agent": {"a": {"description": "` + description + `", "prompt": "{file:./p/a.txt}"}, "b": {"description": "b"}}}`
	}
	write("p/a.txt", "one")
	write("opencode.json", list("first"))
	r, err := agentdefs.Open(t.Context(), root, &agentdefs.Options{From: []string{"opencode"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	until := func(want string, holds func(s *agentdefs.Snapshot) bool) {
		t.Helper()
		for c := range r.Changes(t.Context()) {
			if holds(c.Snapshot) {
				return
			}
		}
		t.Fatalf("never: %s", want)
	}
	is := func(prompt, description string, stale bool) func(s *agentdefs.Snapshot) bool {
		return func(s *agentdefs.Snapshot) bool {
			d, ok := s.Agent("a")
			return ok && d.Prompt == prompt && d.Description == description && d.Stale == stale
		}
	}
	until("the first", is("one", "first", false))
	write("p/a.txt", "two")
	until("the new prompt", is("two", "first", false))
	write("opencode.json", list("second"))
	until("the new list", is("two", "second", false))
	write("opencode.json", `{"agent": {`)
	until("the last good version", is("two", "second", true))
	write("opencode.json", `{"agent": {"b": {"description": "b"}}}`)
	until("a is gone", func(s *agentdefs.Snapshot) bool {
		_, a := s.Agent("a")
		_, b := s.Agent("b")
		return !a && b
	})
}
