package agentdefs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

const plain = agentdefstest.Plain

func TestBuiltins(t *testing.T) {
	s := agentdefstest.Load(t, nil, nil)
	if got := agentdefstest.Names(s.Agents()); !slices.Equal(got, []string{"explore", "general"}) {
		t.Fatalf("agents %v, want explore and general", got)
	}
	if s.Version != 1 || s.Dir() != "" || len(s.Diagnostics()) != 0 {
		t.Errorf("version %d, folder %q, diagnostics %v; want 1, none, none", s.Version, s.Dir(), s.Diagnostics())
	}
	for name, want := range map[string]struct {
		steps int
		rules string
	}{
		"explore": {15, "* deny; grep allow; glob allow; list_dir allow; read_file allow; web_fetch allow; web_search allow; task deny"},
		"general": {20, "* allow; task deny"},
	} {
		d, _ := s.Agent(name)
		if !d.BuiltIn || d.File != "" || d.Mode != agentdefs.Subagent || d.MaxSteps != want.steps || d.Prompt == "" || d.Description == "" {
			t.Errorf("%s: %+v", name, d)
		}
		if got := agentdefstest.Rules(d); got != want.rules {
			t.Errorf("%s: rules %q, want %q", name, got, want.rules)
		}
	}
}

func TestNesting(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{".agents/agents/a.md": plain}, &agentdefs.Options{Nesting: true})
	for _, d := range s.Agents() {
		if strings.Contains(agentdefstest.Rules(d), "task") {
			t.Errorf("%s: rules %q, want none about task", d.Name, agentdefstest.Rules(d))
		}
	}
}

// TestPrimaryMayCallTask: only who can be nothing but a child is denied task by
// its definition.
func TestPrimaryMayCallTask(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{
		".agents/agents/sub.md":     "---\ndescription: d\nmode: subagent\n---\nx\n",
		".agents/agents/all.md":     "---\ndescription: d\nmode: all\n---\nx\n",
		".agents/agents/primary.md": "---\ndescription: d\nmode: primary\n---\nx\n",
	}, nil)
	for name, denied := range map[string]bool{"sub": true, "all": false, "primary": false} {
		d, ok := s.Agent(name)
		if !ok {
			t.Fatalf("%s is missing", name)
		}
		if got := d.Permission.DeniesAll("task"); got != denied {
			t.Errorf("%s: task denied %v, want %v", name, got, denied)
		}
	}
}

// TestFolders shows which folder of a workspace is served.
func TestFolders(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  map[string]string
		dir    string
		agents []string
		codes  []string
	}{
		{"ours", map[string]string{".agents/agents/a.md": plain}, ".agents/agents", []string{"a"}, nil},
		{"ours is flat", map[string]string{".agents/agents/a.md": plain, ".agents/agents/x/b.md": plain}, ".agents/agents", []string{"a"}, []string{"subfolder-unread"}},
		{"theirs is not", map[string]string{".claude/agents/a.md": plain, ".claude/agents/x/y/b.md": plain}, ".claude/agents", []string{"a", "b"}, nil},
		{
			"ours first", map[string]string{".agents/agents/a.md": plain, ".claude/agents/b.md": plain},
			".agents/agents", []string{"a"}, []string{"directory-shadowed"},
		},
		{"empty ours", map[string]string{".agents/agents/a.txt": plain, ".claude/agents/b.md": plain}, ".claude/agents", []string{"b"}, nil},
		{"empty ours alone", map[string]string{".agents/agents/a.txt": plain}, ".agents/agents", nil, nil},
		{"no folder", map[string]string{".agents": "a file", ".claude/agents/b.md": plain}, ".claude/agents", []string{"b"}, nil},
		{"other files", map[string]string{".claude/agents/a.txt": plain, ".claude/agents/.b.md": plain, ".claude/agents/.git/c.md": plain}, ".claude/agents", nil, nil},
		{
			"same name", map[string]string{".claude/agents/a.md": plain, ".claude/agents/b.md": "---\nname: a\ndescription: Other.\n---\nx\n"},
			".claude/agents", []string{"a"}, []string{"name-differs-from-file", "name-duplicate"},
		},
		{"documentation", map[string]string{".claude/agents/README.md": "# Hello", ".claude/agents/_x.md": "x", ".claude/agents/CLAUDE.md": "", ".claude/agents/NOTES.md": "x"}, ".claude/agents", nil, nil},
		{"prose", map[string]string{".claude/agents/a.md": "# Hello"}, ".claude/agents", nil, []string{"frontmatter-missing"}},
		{"empty file", map[string]string{".claude/agents/a.md": ""}, ".claude/agents", nil, []string{"frontmatter-missing"}},
		{"large file", map[string]string{".claude/agents/a.md": plain + strings.Repeat("x", 1<<20)}, ".claude/agents", nil, []string{"file-unreadable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := agentdefstest.Load(t, tt.files, nil)
			if s.Dir() != tt.dir {
				t.Errorf("folder %q, want %q", s.Dir(), tt.dir)
			}
			if got, want := agentdefstest.Names(s.Agents()), append(tt.agents, "explore", "general"); !slices.Equal(got, want) {
				t.Errorf("agents %v, want %v", got, want)
			}
			if got := agentdefstest.Codes(s); !slices.Equal(got, tt.codes) {
				t.Errorf("diagnostics %v, want %v", s.Diagnostics(), tt.codes)
			}
		})
	}
}

// TestOverride shows what a file does to one of the same name before it.
func TestOverride(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		prompt     string // of general; empty means it is not served
		code       string
	}{
		{"replaced", plain, "Work well.", "agent-shadows-builtin"},
		{"refused", "---\ndescription: x\npermission: {shell_exec: never}\n---\nx\n", "", "permission-invalid"},
		{"unreadable", strings.Repeat("x", 1<<20+1), "", "file-unreadable"},
		{"switched off", "---\ndisable: true\n---\n", "", "agent-disabled"},
		{"switched off, almost", "---\ndisabled: true\n---\n", "", "field-misspelled"},
		{"unclear whether", "---\ndisable: perhaps\n---\n", "", "agent-disabled"},
		{"not switched off", "---\ndescription: x\ndisable: false\n---\nOther.", "Other.", "agent-shadows-builtin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := agentdefstest.Load(t, map[string]string{".agents/agents/general.md": tt.file}, nil)
			d, ok := s.Agent("general")
			if ok != (tt.prompt != "") || ok && d.Prompt != tt.prompt {
				t.Errorf("general is served: %v, %+v; want prompt %q", ok, d, tt.prompt)
			}
			if ok && (d.BuiltIn || d.Shadows != "built-in" || d.File != ".agents/agents/general.md") {
				t.Errorf("%+v, want one of the file that shadows the built-in", d)
			}
			if !slices.Contains(agentdefstest.Codes(s), tt.code) {
				t.Errorf("diagnostics %v, want %s", s.Diagnostics(), tt.code)
			}
		})
	}
	s := agentdefstest.Load(t, map[string]string{".agents/agents/general.md": "---\nname: general\n---\nx"}, nil)
	if d, ok := s.Agent("general"); !ok || !d.BuiltIn || !slices.Contains(agentdefstest.Codes(s), "description-missing") {
		t.Errorf("a file without description: %+v, %v; want the built-in and description-missing", d, s.Diagnostics())
	}
}

func TestFurtherFolders(t *testing.T) {
	root, user, extra := t.TempDir(), t.TempDir(), t.TempDir()
	agentdefstest.Write(t, root, map[string]string{".agents/agents/a.md": plain, ".agents/agents/b.md": plain})
	agentdefstest.Write(t, user, map[string]string{"a.md": plain, "c.md": plain})
	agentdefstest.Write(t, extra, map[string]string{"sub/b.md": plain})
	s, err := agentdefs.Load(root, &agentdefs.Options{UserDir: user, Dirs: []string{extra}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"a": {".agents/agents/a.md", filepath.Join(user, "a.md")},
		"b": {filepath.Join(extra, "sub/b.md"), ".agents/agents/b.md"},
		"c": {filepath.Join(user, "c.md"), ""},
	} {
		d, ok := s.Agent(name)
		if !ok || d.File != want[0] || d.Shadows != want[1] {
			t.Errorf("%s: %+v, want file %s that shadows %q", name, d, want[0], want[1])
		}
	}
	if _, err := agentdefs.Load(root, &agentdefs.Options{Dirs: []string{filepath.Join(root, "none")}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a further folder that is absent: error %v, want fs.ErrNotExist", err)
	}
	if _, err := agentdefs.Load(filepath.Join(root, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent root: error %v, want fs.ErrNotExist", err)
	}
}

func TestSymlinks(t *testing.T) {
	root, away := t.TempDir(), t.TempDir()
	agentdefstest.Write(t, away, map[string]string{"a.md": plain, "d/b.md": plain})
	dir := filepath.Join(root, ".claude/agents")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"a.md": filepath.Join(away, "a.md"), "d": filepath.Join(away, "d"), "loop": ".", "gone.md": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := agentdefs.Load(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := agentdefstest.Names(s.Agents()); !slices.Equal(got, []string{"a", "b", "explore", "general"}) {
		t.Errorf("agents %v, want a and b besides the built-in ones", got)
	}
	if got := s.Diagnostics(); len(got) != 1 || got[0].Code != "file-unreadable" || got[0].File != ".claude/agents/gone.md" {
		t.Errorf("diagnostics %v, want file-unreadable for gone.md", got)
	}
}

// TestFolderTooLarge: a symlink that leads to very many folders does not keep
// the worker, and what comes before it is served.
func TestFolderTooLarge(t *testing.T) {
	root, away := t.TempDir(), t.TempDir()
	agentdefstest.Write(t, root, map[string]string{".claude/agents/a.md": plain})
	for i := range 5001 {
		if err := os.Mkdir(filepath.Join(away, fmt.Sprint(i)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	agentdefstest.Write(t, away, map[string]string{"9999/b.md": plain})
	if err := os.Symlink(away, filepath.Join(root, ".claude/agents/away")); err != nil {
		t.Fatal(err)
	}
	s, err := agentdefs.Load(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := agentdefstest.Names(s.Agents()); !slices.Equal(got, []string{"a"}) || !slices.Equal(agentdefstest.Codes(s), []string{"folder-too-large"}) {
		t.Errorf("agents %v, %v; want only a, and folder-too-large once", got, s.Diagnostics())
	}
}

func TestRegistry(t *testing.T) {
	root := t.TempDir()
	agentdefstest.Write(t, root, map[string]string{".agents/agents/a.md": plain})
	r, err := agentdefs.Open(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := agentdefstest.Names(r.Snapshot().Agents()); !slices.Equal(got, []string{"a", "explore", "general"}) {
		t.Errorf("agents %v", got)
	}
	r.Close()
	r.Close()
	if r.Snapshot() == nil {
		t.Error("no snapshot after Close")
	}
}

func TestSubagents(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{
		".agents/agents/a.md": "---\ndescription: x\nmode: primary\n---\nx",
		".agents/agents/b.md": "---\ndescription: x\nmode: All\n---\nx",
		".agents/agents/c.md": "---\ndescription: x\nmode: all\ndisable-model-invocation: true\n---\nx",
		".agents/agents/d.md": "---\ndescription: x\nmode: sometimes\n---\nx",
	}, nil)
	if got, want := agentdefstest.Names(s.Subagents()), []string{"b", "d", "explore", "general"}; !slices.Equal(got, want) {
		t.Errorf("subagents %v, want %v", got, want)
	}
}

func TestDiagnosticForms(t *testing.T) {
	d := agentdefs.Diagnostic{File: "a.md", Line: 3, Column: 7, Severity: agentdefs.Warning, Code: "tool-unknown", Message: "no tool", Fix: "name one"}
	if got, want := d.String(), "a.md:3:7: warning: no tool (tool-unknown); name one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	data, err := json.Marshal(d)
	want := `{"file":"a.md","line":3,"column":7,"severity":"warning","code":"tool-unknown","message":"no tool","fix":"name one"}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
	d = agentdefs.Diagnostic{File: ".claude/agents", Severity: agentdefs.Error, Code: "file-unreadable", Message: "no"}
	if got, want := d.String(), ".claude/agents: error: no (file-unreadable)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnusualSpelling: a field without a meaning here is said once, whatever its
// spelling, and is not taken for one beside it in the table.
func TestUnusualSpelling(t *testing.T) {
	s := agentdefstest.Load(t, map[string]string{".agents/agents/a.md": "---\nname: a\ndescription: x\nInitialPrompt: y\n---\nWork."}, nil)
	if codes := agentdefstest.Codes(s); !slices.Equal(codes, []string{"field-unsupported"}) {
		t.Errorf("diagnostics %v, want one that the field has no meaning", s.Diagnostics())
	}
}
