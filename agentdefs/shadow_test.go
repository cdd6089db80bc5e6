package agentdefs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
)

// TestShadowed gives the lines of the rules that never count.
func TestShadowed(t *testing.T) {
	for _, tt := range []struct {
		fields string
		lines  []int
	}{
		{"permission:\n  '*': deny\n  read_file: allow", nil},
		{"permission:\n  read_file: allow\n  '*': deny", []int{4}},
		{"permission:\n  read_file: allow\n  '**': deny", []int{4}},
		{"permission:\n  read_file: allow\n  '*': allow", nil}, // it comes to the same
		{"permission:\n  read_file: deny\n  '*': deny\n  'read_*': allow", []int{4}},
		{"permission:\n  read_file: allow\n  '*': deny\n  read_*: allow", nil}, // the last one says the same again
		{"permission:\n  shell_exec:\n    'git push *': deny\n    'git *': allow", []int{5}},
		{"permission:\n  shell_exec:\n    'git *': allow\n    'git push *': deny", nil},
		{"permission:\n  shell_exec:\n    'git push': deny\n    'git p[au]*': allow", []int{5}},
		{"permission:\n  shell_exec:\n    'gitk': deny\n    'git *': allow", nil},
		{"permission:\n  shell_exec:\n    'git': deny\n    'git *': allow", nil},
		{"permission:\n  shell_exec: {'rm *': deny}\n  bash: ask", []int{4}},
		{"permission:\n  read_file:\n    '*.env': deny\n    '*': allow", []int{5}},
		{"permission:\n  read_file:\n    'src/secret/**': deny\n    'src/**': allow", []int{5}},
		{"permission:\n  read_file:\n    'src/**': deny\n    'src/*': allow", nil}, // src itself
		{"permission:\n  read_file:\n    'src/x': deny\n    '/src/*': allow", nil}, // another form of the path
		{"permission:\n  read_file:\n    '/etc/x': deny\n    '/etc/*': allow", nil},
		{"permission:\n  read_file:\n    '/etc/x': deny\n    '*': allow", []int{5}},
		{"permission:\n  read_file:\n    a: deny\n    '!b': allow", []int{5}},
		{"permission:\n  edit: deny\n  write_file: allow", nil}, // edit_file is left of it
		{"permission:\n  edit: deny\n  write_file: allow\n  edit_file: ask", []int{4}},
		{"permission:\n  edit: {'*.go': deny}\n  '*_file': allow", []int{4}},
		{"permission:\n  gh_get: deny\n  gh_*: allow", []int{4}},
		{"tools: '*'", nil},
		{"tools: Read, Write\ndisallowedTools: Write", []int{3}},
		{"tools: Read\npermission: {'*': allow}", nil},
		{"tools: Bash\npermission: {shell_exec: ask}", nil},
		{"tools: {bash: true}\npermission: {bash: ask}", nil},
		{"tools: {bash: true}\npermission: {bash: deny}", []int{3}},
		{"tools: {bash: false}\npermission: {bash: ask}", []int{3}},
		{"tools:\n  bash: false\n  Bash: true", []int{4}},
		{"permission: {shell_exec: allow}\nreadonly: true", nil},
		{"permission: {write_file: allow}\npermissionMode: plan", nil},
		{"permission: {task: allow}", nil},
	} {
		res := parse("a.md", []byte("---\ndescription: x\n"+tt.fields+"\n---\nWork.\n"), (*Options)(nil).complete())
		var lines []int
		for _, d := range res.diagnostics {
			if d.Code == codePermissionShadowed {
				lines = append(lines, d.Line)
			}
		}
		if !slices.Equal(lines, tt.lines) || res.def == nil {
			t.Errorf("%s\nlines %v, want %v; %v", tt.fields, lines, tt.lines, res.diagnostics)
		}
	}
}

func TestShadowedMessage(t *testing.T) {
	res := parse("a.md", []byte("---\ndescription: x\npermission:\n  read_file: {'*.env': deny}\n  '*': allow\n---\nWork.\n"), (*Options)(nil).complete())
	want := `a.md:4:15: warning: the rule read_file: {"*.env": deny} never counts: *: {"*": allow} in a.md:5 matches all that it does, and comes later (permission-shadowed); ` +
		"write the wider rule first and the narrower one behind it, or remove this one"
	if len(res.diagnostics) != 1 || res.diagnostics[0].String() != want {
		t.Errorf("got  %v\nwant %s", res.diagnostics, want)
	}
}

// FuzzShadowed holds that a rule which is said never to count decides nothing:
// without it every value gets the same decision.
func FuzzShadowed(f *testing.F) {
	for _, s := range []string{
		"read_file|src/secret/**|deny\nread_file|src/**|allow", "a|git push *|deny\na|git *|allow\n*|*|ask", "a|x|allow\na|!y|deny",
		"a|*.env|deny\n*|**|allow", "a|./x|deny\na|x*|allow", "a|a/b|deny\na|a/**|allow", "a|a.b*|deny\na|a.*|allow", "a|x.|deny\na|[x]?|allow",
		"a|a-b c*|deny\na|a-b *|allow", "gh_get|*|deny\ngh_*|*|allow", "a|a b|deny\na|a *|allow", "a|é|deny\na|e*|allow", "a|a/|deny\na|a/*|allow",
		"a|a{b,c}|deny\na|a*|allow", "a|a+(b)|deny\na|a*|allow", "a|ab?(c)|allow\na|ab*|deny", "a|x/./y|deny\na|x/*|allow", "a|.x*|deny\na|.*|allow",
	} {
		f.Add(s, "src/secret/x")
		f.Add(s, "git push")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		var clauses []clause
		for i, line := range strings.Split(text, "\n") {
			parts := strings.SplitN(line, "|", 3)
			if len(parts) < 3 || i > 8 {
				return
			}
			action, err := permission.ParseAction(parts[2])
			if err != nil {
				return
			}
			clauses = append(clauses, clause{{Tool: parts[0], Pattern: parts[1], Action: action, Source: permission.Source{Line: i + 1}}})
		}
		all, err := permission.NewRuleset(slices.Concat(clauses...)...)
		if err != nil {
			return
		}
		values := []string{value}
		for _, c := range clauses { // what the patterns are about
			p := c[0].Pattern
			star := strings.ReplaceAll(p, "*", "")
			values = append(values, p, star, star+"/", strings.TrimRight(star, "/"), strings.ReplaceAll(p, "*", "x"), strings.ReplaceAll(p, "**", "x/y"), p+value, "./"+star, "/"+star)
		}
		for i, c := range clauses {
			by, ok := shadowed(c, clauses[i+1:])
			if !ok {
				continue
			}
			rest := slices.Delete(slices.Clone(clauses), i, i+1)
			without, err := permission.NewRuleset(slices.Concat(rest...)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{c[0].Tool, "read_file", "a", "gh_get", strings.ReplaceAll(c[0].Tool, "*", "x")} {
				for _, text := range values {
					if text == "" {
						continue // only "*": deny is about it
					}
					for _, abs := range []string{"", "/w/" + text} {
						v := []permission.Value{{Tool: tool, Text: text, Abs: abs}}
						got := (&permission.Layers{Agents: []*permission.Ruleset{without}}).Decide(v)
						want := (&permission.Layers{Agents: []*permission.Ruleset{all}}).Decide(v)
						if got.Action != want.Action {
							t.Errorf("%q: %v is said to be covered by %v, and decides %s %q: %v, without it %v", fmt.Sprint(clauses), c[0], by, tool, text, want.Action, got.Action)
						}
					}
				}
			}
		}
	})
}
