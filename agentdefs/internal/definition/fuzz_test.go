package definition

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// FuzzParse holds that no file, however broken, does harm.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../testdata/corpus/*/*.md")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d corpus files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 2000)]) // the start holds what is special
	}
	for _, s := range []string{
		"", "---", "---\n---\n", "\xFF\xFE-", "name:", "<!--", "````\n---\nname: a\ndescription: b\n---\n````",
		"---\n&a description: &b [*a, *b]\n---", "---\ndescription: a: b\n<example>\ntools: *\n</example>\n---",
		"---\ndescription: x\ntools: Bash(git:*), Agent(a, b), mcp__a__b\ndisallowedTools: Read(.env)\n---\nx",
		"---\ndescription: x\npermission: {bash: {\"*\": ask}}\nreadonly: true\npermissionMode: dontAsk\n---\nx",
	} {
		f.Add([]byte(s))
	}
	opts := Options{Home: "/home/u"}
	f.Fuzz(func(t *testing.T, data []byte) {
		res := Parse("a.md", data, opts)
		for _, d := range res.Diagnostics {
			if d.Severity == "" || d.Message == "" || d.File != "a.md" || d.Line < 0 || d.Line > 0 && d.Column < 1 {
				t.Errorf("%q: diagnostic %+v", data, d)
			}
		}
		d := res.Def
		if d == nil {
			return
		}
		if d.Name == "" || d.Description == "" || strings.ContainsFunc(d.Name, unicode.IsControl) || d.MaxSteps < 1 || d.MaxSteps > MaxMaxSteps {
			t.Errorf("%q: %+v", data, d)
		}
		rules := rulesOf(d)
		if d.Mode == Subagent && (len(rules) == 0 || rules[len(rules)-1].Tool != "task" || rules[len(rules)-1].Action != permission.Deny) {
			t.Errorf("%q: rules %+v, want task: deny at the end", data, rules)
		}
	})
}

var endsHeader = regexp.MustCompile(`(?m)^[ \t]*---+[ \t]*\r?$`)

// FuzzNeverWider puts anything at all before, beside and into a description,
// and holds that the file's permission comes out as written or not at all.
func FuzzNeverWider(f *testing.F) {
	for _, s := range []string{
		"x", "a: b", "|", ">-\n  x", "\"", "'", "{", "[", "a: b <example>", "a: b\n<example>\nx", "x\n...", "x\n--- y", "&a x", "*a", "!!str",
		"x\n? ", "x\n\"", "x\n  ", "a: b\n  z", "x\n#", "x\n<!--", "|2\n", "x\\", "x\nhooks: &a", "x\n- ", "x\u2028y", "a: b\n```", "x\n\t", "\x00", "\xff",
	} {
		f.Add(s)
	}
	opts := Options{Home: "/home/u"}
	f.Fuzz(func(t *testing.T, junk string) {
		if endsHeader.MatchString(strings.ReplaceAll(junk, "\r", "\n")) {
			return // the header ends within; its rest is a body by any reading
		}
		if strings.Contains(strings.ToLower(junk), "allow") {
			return // it may be a permission of its own
		}
		for _, field := range []string{"permission:\n  \"*\": deny\n", "tools: []\n", "permission: {\"*\": deny}\n"} {
			for _, file := range []string{
				"---\nname: a\ndescription: " + junk + "\n" + field + "---\nWork.\n",
				"---\n" + field + "description: " + junk + "\n---\nWork.\n",
				"---\ndescription: x\n" + junk + "\n" + field + "---\nWork.\n",
			} {
				d := Parse("a.md", []byte(file), opts).Def
				if d == nil {
					continue
				}
				for _, tool := range toolcatalog.Rules {
					if !d.Permission.DeniesAll(tool) {
						t.Errorf("%q: rules %+v, want %s denied", file, rulesOf(d), tool)
					}
				}
			}
		}
	})
}

func rulesOf(d *Definition) []permission.Rule {
	var rules []permission.Rule
	for r := range d.Permission.Rules() {
		rules = append(rules, r)
	}
	return rules
}
