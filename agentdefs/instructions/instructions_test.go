package instructions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs/instructions"
)

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, dir, name, to string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// workspace makes one with files, by their names.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		write(t, dir, name, content)
	}
	return dir
}

// given lists the files of a set as NAME=CONTENT.
func given(s *instructions.Set) string {
	var all []string
	for _, f := range s.Given {
		all = append(all, f.Name+"="+f.Content)
	}
	return strings.Join(all, " ")
}

// TestCurrent: an agent's context is the current AGENTS.md and CLAUDE.md (O10).
func TestCurrent(t *testing.T) {
	dir := workspace(t, nil)
	r := instructions.NewReader(dir, nil)
	expect := func(when, want string) {
		t.Helper()
		if got := given(r.Current()); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	expect("without a file", "")
	write(t, dir, "CLAUDE.md", "be kind\n")
	expect("with CLAUDE.md", "CLAUDE.md=be kind")
	write(t, dir, "AGENTS.md", "\ufeffbe quick\r\nand true\r\n")
	expect("with both", "AGENTS.md=be quick\nand true CLAUDE.md=be kind")
	if s := r.Current(); r.Current() != s {
		t.Error("it was read again though it has not changed")
	}
	write(t, dir, "AGENTS.md", "be slow, and longer than before")
	expect("after a change", "AGENTS.md=be slow, and longer than before CLAUDE.md=be kind")
	write(t, dir, ".cursor/rules/a.mdc", "---\nalwaysApply: true\n---\nrule a")
	expect("with a rule", "AGENTS.md=be slow, and longer than before CLAUDE.md=be kind .cursor/rules/a.mdc=rule a")
	write(t, dir, ".cursor/rules/b/b.mdc", "---\nalwaysApply: true\n---\nrule b")
	if err := os.Remove(filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	expect("with another rule", "CLAUDE.md=be kind .cursor/rules/a.mdc=rule a .cursor/rules/b/b.mdc=rule b")
	write(t, dir, "CLAUDE.md", "see @guides/a.md")
	expect("with an import of nothing", "CLAUDE.md=see @guides/a.md .cursor/rules/a.mdc=rule a .cursor/rules/b/b.mdc=rule b")
	write(t, dir, "guides/a.md", "imported")
	expect("with what it imports", "CLAUDE.md=see @guides/a.md guides/a.md=imported .cursor/rules/a.mdc=rule a .cursor/rules/b/b.mdc=rule b")
}

// TestOnce: a text that several files have is given once.
func TestOnce(t *testing.T) {
	const agents = "the text"
	for _, tt := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"the same text", func(t *testing.T, dir string) { write(t, dir, "CLAUDE.md", agents+"\n\n") }, "AGENTS.md=the text"},
		{"a link", func(t *testing.T, dir string) { link(t, dir, "CLAUDE.md", "AGENTS.md") }, "AGENTS.md=the text"},
		{"a hard link", func(t *testing.T, dir string) {
			if err := os.Link(filepath.Join(dir, "AGENTS.md"), filepath.Join(dir, "CLAUDE.md")); err != nil {
				t.Fatal(err)
			}
		}, "AGENTS.md=the text"},
		{"an import alone", func(t *testing.T, dir string) { write(t, dir, "CLAUDE.md", "<!-- for Claude Code -->\n- @AGENTS.md\n") }, "AGENTS.md=the text"},
		{"an import and more", func(t *testing.T, dir string) { write(t, dir, "CLAUDE.md", "@AGENTS.md\nand more") }, "AGENTS.md=the text CLAUDE.md=@AGENTS.md\nand more"},
		{"imports of one file", func(t *testing.T, dir string) {
			write(t, dir, "CLAUDE.md", "@x.md @./x.md")
			write(t, dir, ".claude/CLAUDE.md", "@../x.md")
			write(t, dir, "x.md", "x")
		}, "AGENTS.md=the text x.md=x"},
		{"a rule that says the same", func(t *testing.T, dir string) {
			write(t, dir, ".cursor/rules/all.mdc", "---\ndescription: all\nalwaysApply: true\n---\n\nthe text")
			write(t, dir, ".github/copilot-instructions.md", agents)
		}, "AGENTS.md=the text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := workspace(t, map[string]string{"AGENTS.md": agents})
			tt.make(t, dir)
			s := instructions.NewReader(dir, nil).Current()
			if got := given(s); got != tt.want || len(s.Diagnostics()) > 0 {
				t.Errorf("%q, want %q; %v", got, tt.want, s.Diagnostics())
			}
		})
	}
}

// TestRules: what is given from the start, of the rules of each program.
func TestRules(t *testing.T) {
	for name, want := range map[string]string{
		".claude/rules/a.md=---\ndescription: x\n---\nyes":                                               "yes",
		".claude/rules/sub/a.md=yes":                                                                     "yes",
		".claude/rules/a.md=---\npaths:\n  - \"src/**/*.{ts,tsx}\"\n---\nno":                             "",
		".claude/rules/a.md=---\npaths: \"**/*\"\n---\nyes":                                              "yes",
		".claude/rules/a.txt=no":                                                                         "",
		".cursor/rules/a.mdc=---\nalwaysApply: true\nglobs: *.ts\n---\nyes":                              "yes",
		".cursor/rules/a.mdc=---\ndescription: Use it: often\nglobs:\nalwaysApply: true\n---\nyes":       "yes",
		".cursor/rules/a.mdc=---\nglobs: **/*.ts, *.js\nalwaysApply: false\n---\nno":                     "",
		".cursor/rules/a.mdc=---\ndescription: sometimes\n---\nno":                                       "",
		".cursor/rules/a.md=no":                                                                          "",
		".github/instructions/a.instructions.md=---\napplyTo: \"**\"\n---\nyes":                          "yes",
		".github/instructions/a.instructions.md=---\napplyTo: '*'\n---\nyes":                             "yes",
		".github/instructions/a.instructions.md=---\napplyTo: \"**/*.ts,**/*.tsx\"\n---\nno":             "",
		".github/instructions/a.instructions.md=no":                                                      "",
		".github/instructions/a.instructions.md=---\napplyTo: '**'\nexcludeAgent: coding-agent\n---\nno": "",
		".github/instructions/a.md=---\napplyTo: '**'\n---\nno":                                          "",
		".github/copilot-instructions.md=yes":                                                            "yes",
		".kiro/steering/a.md=yes":                                                                        "yes",
		".kiro/steering/a.md=---\ninclusion: always\n---\nyes":                                           "yes",
		".kiro/steering/a.md=---\ninclusion: fileMatch\nfileMatchPattern: \"*.tsx\"\n---\nno":            "",
		".kiro/steering/a.md=---\ninclusion: manual\n---\nno":                                            "",
		".claude/rules/a.md=---\npaths: {a: b}\n---\nno: whom it is for can't be read":                   "",
	} {
		file, content, _ := strings.Cut(name, "=")
		dir := workspace(t, map[string]string{file: content})
		s := instructions.NewReader(dir, nil).Current()
		if want != "" {
			want = file + "=" + want
		}
		if got := given(s); got != want {
			t.Errorf("%q: %q, want %q; %v", name, got, want, s.Diagnostics())
		}
	}
}

// TestImports: what is imported, and in which order.
func TestImports(t *testing.T) {
	files := map[string]string{
		"CLAUDE.md":       "see (@guides/a.md), @package.json and \"@guides/b.md\".\n\n```sh\nnpx @guides/code.md\n```\n\nnot `@guides/code.md` nor me@guides/code.md nor @types/node nor @src",
		"guides/a.md":     "a @sub/c.md",
		"guides/b.md":     "b @../CLAUDE.md @a.md",
		"guides/sub/c.md": "c @../b.md",
		"guides/code.md":  "code",
		"package.json":    "{}",
		"src/x.go":        "package x",
	}
	s := instructions.NewReader(workspace(t, files), nil).Current()
	want := "CLAUDE.md guides/a.md<CLAUDE.md package.json<CLAUDE.md guides/b.md<CLAUDE.md guides/sub/c.md<guides/a.md"
	var got []string
	for _, f := range s.Given {
		name := f.Name
		if f.By != "" {
			name += "<" + f.By
		}
		got = append(got, name)
	}
	if strings.Join(got, " ") != want || len(s.Diagnostics()) > 0 {
		t.Errorf("%s, want %s; %v", got, want, s.Diagnostics())
	}
}

// TestImportDepth: imports are followed five deep.
func TestImportDepth(t *testing.T) {
	files := map[string]string{"AGENTS.md": "0 @1.md"}
	for i := 1; i < 9; i++ {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("%d\n@%d.md", i, i+1)
	}
	s := instructions.NewReader(workspace(t, files), nil).Current()
	if len(s.Given) != 6 || s.Given[5].Name != "5.md" {
		t.Errorf("%s", given(s))
	}
	if d := s.Diagnostics(); len(d) != 1 || d[0].File != "5.md" || d[0].Line != 2 || !strings.Contains(d[0].Message, "5 deep") {
		t.Errorf("%v", d)
	}
}

// TestBound: what has no room is named, and the first files have it.
func TestBound(t *testing.T) {
	dir := workspace(t, map[string]string{
		"AGENTS.md": strings.Repeat("a line\n", 3000), "CLAUDE.md": strings.Repeat("another line\n", 3000), ".kiro/steering/x.md": "x",
	})
	s := instructions.NewReader(dir, nil).Current()
	if len(s.Given) != 2 || s.Given[0].Cut || !s.Given[1].Cut || !strings.HasSuffix(s.Given[1].Content, "\nanother line") {
		t.Errorf("%d files", len(s.Given))
	}
	if n := len(s.Given[0].Content) + len(s.Given[1].Content); n > instructions.MaxBytes || n < instructions.MaxBytes-20 {
		t.Errorf("%d bytes", n)
	}
	if !slices.Equal(s.NoRoom(), []string{".kiro/steering/x.md"}) || len(s.Warnings()) != 1 || !strings.Contains(s.Warnings()[0], "the beginning of CLAUDE.md; they are not given .kiro/steering/x.md") {
		t.Errorf("%q, %q", s.NoRoom(), s.Warnings())
	}
}

// TestKeep: rules decide about what links and imports lead to, and about what that imports.
func TestKeep(t *testing.T) {
	dir := workspace(t, map[string]string{
		"AGENTS.md": "text @notes/a.md @b.md", "notes/a.md": "a @c.md", "notes/c.md": "c", "b.md": "b", "notes/real.md": "real",
	})
	link(t, dir, "CLAUDE.md", "notes/real.md")
	s := instructions.NewReader(dir, nil).Current()
	if s.Keep(func(string) error { return nil }) != s {
		t.Error("another set though nothing is refused")
	}
	var asked []string
	kept := s.Keep(func(path string) error {
		asked = append(asked, path)
		if strings.HasPrefix(path, "notes/") {
			return errors.New("no notes")
		}
		return nil
	})
	if got := given(kept); got != "AGENTS.md=text @notes/a.md @b.md b.md=b" {
		t.Errorf("kept %q", got)
	}
	if slices.Contains(asked, "AGENTS.md") {
		t.Errorf("asked about %q", asked)
	}
	if w := kept.Warnings(); len(w) != 3 || w[0] != "notes/a.md: it is not given to the agent: no notes" || !strings.Contains(w[1], "notes/a.md is not given, which imports it") {
		t.Errorf("%q", w)
	}
}

// TestUser: the user's own file comes first. It imports files beside it, about which no rule of a
// session decides.
func TestUser(t *testing.T) {
	dir, home := workspace(t, map[string]string{"AGENTS.md": "text"}), workspace(t, map[string]string{"AGENTS.md": "mine @more.md @../x.md", "more.md": "more"})
	r := instructions.NewReader(dir, &instructions.Options{Kinds: instructions.Kinds(), User: []instructions.UserFile{
		{Kind: instructions.User, Path: filepath.Join(home, "AGENTS.md"), Shown: "~/.config/agentworker/AGENTS.md"},
		{Kind: instructions.ClaudeUser, Path: filepath.Join(home, "none", "CLAUDE.md"), Shown: "~/.claude/CLAUDE.md"},
	}})
	s := r.Current().Keep(func(string) error { return errors.New("no") })
	if got := given(s); got != "~/.config/agentworker/AGENTS.md=mine @more.md @../x.md ~/.config/agentworker/more.md=more AGENTS.md=text" {
		t.Errorf("%q", got)
	}
	if d := s.Diagnostics(); len(d) != 1 || !strings.Contains(d[0].Message, "@../x.md is not read: it leads out of the folder ~/.config/agentworker") {
		t.Errorf("%v", d)
	}
	write(t, home, "none/CLAUDE.md", "new")
	if got := given(r.Current()); !strings.Contains(got, " ~/.claude/CLAUDE.md=new ") {
		t.Errorf("%q", got)
	}
}
