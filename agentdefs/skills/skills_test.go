package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/agentdefs/skills"
)

// place makes a workspace and a home folder with files.
func place(t *testing.T, files map[string]string) (root, home string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, home = filepath.Join(dir, "root"), filepath.Join(dir, "home")
	for _, d := range []string{root, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return root, home
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// skill is the text of a SKILL.md.
func skill(name, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: About %s.\n---\n%s\n", name, name, body)
}

func names(s *skills.Set) (names []string) {
	for _, skill := range s.All() {
		names = append(names, skill.Name)
	}
	return names
}

func codes(found []skills.Diagnostic) (codes []string) {
	for _, d := range found {
		codes = append(codes, d.Code)
	}
	return codes
}

// TestParse: the reading is lenient, and what makes no skill is said with its place.
func TestParse(t *testing.T) {
	const file = ".agents/skills/deploy/SKILL.md"
	for _, tt := range []struct {
		text, name, description string // no name: it is not a skill
		found                   string
	}{
		{skill("deploy", "x"), "deploy", "About deploy.", ""},
		{"---\ndescription: x\n---\ny", "deploy", "x", ""},
		{"---\nname: other\ndescription: x\n---\ny", "other", "x", "2:1 name-differs-from-file"},
		{"---\nname: Deploy It\ndescription: x\n---\ny", "deploy-it", "x", "2:1 name-not-slug, 2:1 name-differs-from-file"},
		{"---\nname: " + strings.Repeat("a", 80) + "\ndescription: x\n---\ny", strings.Repeat("a", 80), "x", "2:1 name-not-slug, 2:1 name-differs-from-file"},
		{"---\nname: deploy\ndescription: Use it: always, e.g.: now\n---\ny", "deploy", "Use it: always, e.g.: now", "3:1 yaml-invalid, 3:1 field-repaired"},
		{"---\nname: deploy\ndescription: >\n  two\n  lines\n---\ny", "deploy", "two lines", ""},
		{"---\nname: deploy\ndescription: x\nallowed-tools: Bash(*)\nlicense: MIT\nmetadata: {a: b}\nunheard: of\n---\ny", "deploy", "x", "4:1 field-unsupported"},
		{"---\nname: deploy\ndescription: " + strings.Repeat("x", 1100) + "\n---\ny", "deploy", strings.Repeat("x", 1023) + "…", "3:1 description-long"},
		{"---\nname: deploy\ndescription: x\n---\n", "deploy", "x", "2:1 body-empty"},

		{"---\nname: deploy\n---\ny", "", "", "2:1 description-missing"},
		{"---\nname: deploy\ndescription: \" \"\n---\ny", "", "", "3:1 description-missing"},
		{"just text", "", "", "1:1 file-unreadable"},
		{"", "", "", "1:1 file-unreadable"},
		{"---\nname: \"a\\nb\"\ndescription: x\n---\ny", "", "", "2:1 name-invalid, 2:1 name-differs-from-file"},
		{"---\nname: ../../etc\ndescription: x\n---\ny", "", "", "2:1 name-invalid, 2:1 name-differs-from-file"},
		{"---\nname: ..\ndescription: x\n---\ny", "", "", "2:1 name-invalid, 2:1 name-differs-from-file"},
		{"---\nname: a\"><b\ndescription: x\n---\ny", "", "", "2:1 name-invalid, 2:1 name-differs-from-file"},
		{"---\nname: " + strings.Repeat("a", 300) + "\ndescription: x\n---\ny", "", "", "2:1 name-invalid, 2:1 name-differs-from-file"},
		{"---\nname: deploy\ndescription: x\n", "", "", "2:1 frontmatter-unclosed, 2:1 permission-invalid"},
	} {
		s, found := skills.Parse(file, []byte(tt.text))
		var got []string
		for _, d := range found {
			got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
		}
		wrong := strings.Join(got, ", ") != tt.found
		if tt.name == "" {
			wrong = s != nil || len(found) == 0 || tt.found != "" && !strings.HasPrefix(strings.Join(got, ", "), strings.Split(tt.found, ",")[0])
		} else {
			wrong = wrong || s == nil || s.Name != tt.name || s.Description != tt.description
		}
		if wrong {
			t.Errorf("%.60q: %+v, %q", tt.text, s, got)
		}
	}
	for text, want := range map[string]bool{"true": true, "false": false, "maybe": true, "[a]": true} {
		if s, found := skills.Parse(file, []byte("---\ndescription: x\ndisable-model-invocation: "+text+"\n---\ny")); s == nil || s.NoModel != want {
			t.Errorf("disable-model-invocation: %s: %+v, %v", text, s, found)
		}
	}
	if s, _ := skills.Parse(file, []byte("---\ndescription: x\ncontext: fork\nagent: Explore\n---\ny")); !s.Fork || s.Agent != "Explore" {
		t.Errorf("%+v", s)
	}
}

// TestLoad: the first folder that has a name counts.
func TestLoad(t *testing.T) {
	root, home := place(t, map[string]string{
		"root/.github/skills/a/SKILL.md":    skill("a", "github"),
		"root/.claude/skills/a/SKILL.md":    skill("a", "claude"),
		"root/.claude/skills/b/SKILL.md":    skill("b", "claude"),
		"root/.agents/skills/c/SKILL.md":    skill("c", "agents"),
		"root/.agents/skills/none/x.md":     "no skill",
		"root/.agents/skills/README.md":     "no folder",
		"root/.agents/skills/.hid/SKILL.md": skill("hid", "x"),
		"root/.agents/skills/bad/SKILL.md":  "---\nname: bad\n---\nx",
		"home/.claude/skills/c/SKILL.md":    skill("c", "user"),
		"home/.agents/skills/d/SKILL.md":    skill("d", "user"),
	})
	s := skills.Load(root, home)
	if got := names(s); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Fatalf("%v, %v", got, s.Diagnostics())
	}
	for name, want := range map[string]string{"a": ".claude/skills/a/SKILL.md claude", "C": ".agents/skills/c/SKILL.md agents", "d": "~/.agents/skills/d/SKILL.md user"} {
		got := s.Get(name)
		content, err := got.Read()
		if err != nil || got.File+" "+content.Body != want || got.User != strings.HasPrefix(got.File, "~") {
			t.Errorf("%s: %s, %+v, %v", name, got.File, content, err)
		}
	}
	if got := s.Get("none"); got != nil {
		t.Errorf("%+v", got)
	}
	if got := codes(s.Diagnostics()); !slices.Equal(got, []string{"description-missing", "skill-shadowed", "skill-shadowed"}) {
		t.Errorf("%v", s.Diagnostics())
	}
	if got := skills.Load(t.TempDir(), ""); len(got.All())+len(got.Diagnostics()) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestHostile: what a repository may try with its skills.
func TestHostile(t *testing.T) {
	root, _ := place(t, map[string]string{
		"outside/SKILL.md":                 skill("outside", "SECRET"),
		"outside/key.txt":                  "SECRET",
		"root/.agents/skills/a/SKILL.md":   skill("a", "fine"),
		"root/.agents/skills/a/ref/x.md":   "x\n",
		"root/.agents/skills/a/.env":       "SECRET",
		"root/.agents/skills/a/bin":        "\x00\x01",
		"root/.agents/skills/a/n\new.md":   "x",
		"root/.agents/skills/a/long.txt":   strings.Repeat("ä", skills.MaxResource),
		"root/.agents/skills/big/SKILL.md": skill("big", strings.Repeat("x", 10<<20)),
		"root/.agents/skills/fat/SKILL.md": skill("fat", strings.Repeat("x", skills.MaxBody+9)),
		"root/shared/within/SKILL.md":      skill("within", "shared"),
	})
	at := func(name string) string { return filepath.Join(root, ".agents/skills", name) }
	link(t, filepath.Join(root, "../outside"), at("absolute"))
	link(t, "../../../outside", at("relative"))
	link(t, "../../../../outside/SKILL.md", at("file/SKILL.md"))
	link(t, "../../shared/within", at("within"))
	link(t, "../../../../outside/key.txt", at("a/key.txt"))
	link(t, "loop", at("loop"))
	link(t, "/dev/zero", at("zero/SKILL.md"))
	if err := os.MkdirAll(at("pipe"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe/SKILL.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := skills.Load(root, "")
	if got := names(s); !slices.Equal(got, []string{"a", "fat", "within"}) {
		t.Fatalf("%v, %v", got, s.Diagnostics())
	}
	for _, d := range s.Diagnostics() {
		if d.Code != "file-unreadable" || strings.Contains(d.String(), "SECRET") {
			t.Errorf("%v", d)
		}
	}
	if n := len(s.Diagnostics()); n != 7 {
		t.Errorf("%d: %v", n, s.Diagnostics())
	}
	content, err := s.Get("a").Read()
	if err != nil || content.Body != "fine" || !slices.Equal(content.Files, []string{"bin", "long.txt", "ref/x.md"}) || content.More {
		t.Errorf("%+v, %v", content, err)
	}
	if content, err := s.Get("fat").Read(); err != nil || len(content.Body) != skills.MaxBody || !content.Cut {
		t.Errorf("%d bytes, %v", len(content.Body), err)
	}
	for name, want := range map[string]string{
		"ref/x.md": "", "./ref/../ref/x.md": "",
		"key.txt": "can't be read", "../b": "give the path", "/etc/passwd": "give the path", "": "give the path", ".": "give the path", "ref": "not a regular file",
		"bin": "not UTF-8 text", "none.md": "no such file", "../../../../outside/key.txt": "give the path", "a\x00b": "can't be read",
	} {
		text, cut, err := s.Get("a").ReadFile(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || cut || err == nil && text != "x\n" {
			t.Errorf("%q: %q, %v, %v", name, text, cut, err)
		}
	}
	if text, cut, err := s.Get("a").ReadFile("long.txt"); err != nil || !cut || len(text) != skills.MaxResource {
		t.Errorf("%d bytes, %v, %v", len(text), cut, err)
	}
	// The skill's folder is exchanged for a link after it was found.
	if err := os.Rename(at("a"), at("b")); err != nil {
		t.Fatal(err)
	}
	link(t, "../../../outside", at("a"))
	if content, err := s.Get("a").Read(); err == nil {
		t.Errorf("%+v", content)
	}
	if text, _, err := s.Get("a").ReadFile("key.txt"); err == nil {
		t.Errorf("%q", text)
	}
}

// TestMany: 5,000 skills are no more work than some hundred.
func TestMany(t *testing.T) {
	files := map[string]string{}
	for i := range 5000 {
		files[fmt.Sprintf("root/.agents/skills/s%04d/SKILL.md", i)] = skill(fmt.Sprintf("s%04d", i), "x")
	}
	for i := range skills.MaxFiles + 5 {
		files[fmt.Sprintf("root/.agents/skills/s0000/f%03d", i)] = ""
	}
	root, _ := place(t, files)
	s := skills.Load(root, "")
	if n := len(s.All()); n != skills.MaxSkills || !slices.Equal(codes(s.Diagnostics()), []string{"folder-too-large"}) {
		t.Errorf("%d skills, %v", n, s.Diagnostics())
	}
	if c, err := s.Get("s0000").Read(); err != nil || len(c.Files) != skills.MaxFiles || !c.More {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestLibrary: what changes is there a second later, and the same set until then.
func TestLibrary(t *testing.T) {
	root, home := place(t, map[string]string{"root/.claude/skills/a/SKILL.md": skill("a", "old")})
	synctest.Test(t, func(t *testing.T) {
		l := skills.NewLibrary(root, home, nil)
		first := l.Current()
		<-time.After(2 * time.Second)
		if l.Current() != first || len(first.All()) != 1 {
			t.Error("it was read again, though nothing has changed")
		}
		for step, change := range map[string]func(){
			"added":   func() { write(t, filepath.Join(root, ".agents/skills/b/SKILL.md"), skill("b", "x")) },
			"user's":  func() { write(t, filepath.Join(home, ".agents/skills/c/SKILL.md"), skill("c", "x")) },
			"changed": func() { write(t, filepath.Join(root, ".claude/skills/a/SKILL.md"), skill("a", "newer")) },
		} {
			before := l.Current()
			change()
			<-time.After(2 * time.Second)
			if l.Current() == before {
				t.Errorf("%s: it was not read again", step)
			}
		}
		if got := names(l.Current()); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%v", got)
		}
		old := l.Current().Get("a")
		if err := os.RemoveAll(filepath.Join(root, ".claude")); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		if l.Current().Get("a") != nil {
			t.Error("it is still there")
		}
		if _, err := old.Read(); err == nil {
			t.Error("a skill that is gone is read")
		}
	})
	var none *skills.Library
	if none.Current().All() != nil || none.At("/x") != nil || none.Current().Get("a") != nil {
		t.Error("no library has skills")
	}
}

// FuzzParse: no input panics, and what is a skill has a name and a description that fit into
// one line.
func FuzzParse(f *testing.F) {
	f.Add(skill("deploy", "x"))
	f.Add("---\nname: a: b\ndescription: c: d\n  e\n---\n")
	f.Add("---\ndescription: &a [*a]\ncontext: {fork}\n---")
	f.Add("\ufeff--- \nname: \"\\u202e\"\ndescription: |\n  x\n...\n# y\nz")
	f.Fuzz(func(t *testing.T, text string) {
		s, found := skills.Parse(".agents/skills/x/SKILL.md", []byte(text))
		if s == nil {
			if len(found) == 0 {
				t.Error("nobody is told why it is no skill")
			}
			return
		}
		if s.Name == "" || len(s.Name) > 1000 || strings.ContainsAny(s.Name, " \n\r\t/\\<>\"&") || strings.HasPrefix(s.Name, ".") {
			t.Errorf("the name %q", s.Name)
		}
		if strings.TrimSpace(s.Description) == "" || strings.ContainsAny(s.Description, "\n\r\x1b") {
			t.Errorf("the description %q", s.Description)
		}
		if again, _ := skills.Parse(".agents/skills/x/SKILL.md", []byte(text)); again == nil || again.Name != s.Name {
			t.Error("it is another one when read again")
		}
	})
}
