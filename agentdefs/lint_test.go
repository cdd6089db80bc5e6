package agentdefs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

func TestLint(t *testing.T) {
	t.Chdir(t.TempDir())
	named := func(name string) string { return "---\nname: " + name + "\ndescription: x\n---\nWork.\n" }
	agentdefstest.Write(t, ".", map[string]string{
		"a/agents/one.md":      named("one"),
		"a/agents/sub/twin.md": named("one"),
		"b/agents/one.md":      named("one"),
		"b/agents/README.md":   "# About these files\n",
		"b/agents/notes.txt":   "no agent",
		"bad.md":               "---\ndescription: x\npermission: {a: nope}\n---\nx\n",
		"other.txt":            named("other"),
		"twin.md":              named("bad"),
	})
	if err := os.Symlink("nowhere", "gone.md"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		paths string
		files int
		want  string // file: code, of errors and warnings
	}{
		{"", 0, ""},
		{"a/agents/one.md", 1, ""},
		{"a", 2, "a/agents/sub/twin.md: name-duplicate"},
		{"a/agents", 2, "a/agents/sub/twin.md: name-duplicate"},
		{"b", 2, ""},
		{"b/agents/README.md", 1, ""},
		{"a/agents/one.md b/agents/one.md", 2, ""},
		{"a/agents/one.md a/agents/one.md ./a/agents", 2, "a/agents/sub/twin.md: name-duplicate"},
		{"bad.md", 1, "bad.md: permission-invalid"},
		{"bad.md twin.md", 2, "bad.md: permission-invalid twin.md: name-duplicate"},
		{"other.txt", 1, ""},
		{".", 7, "a/agents/sub/twin.md: name-duplicate bad.md: permission-invalid gone.md: file-unreadable twin.md: name-duplicate"},
	} {
		found, files, err := agentdefs.Lint(t.Context(), strings.Fields(tt.paths), nil)
		var got []string
		for _, d := range found {
			if d.Severity != agentdefs.Information {
				got = append(got, d.File+": "+d.Code)
			}
		}
		if err != nil || files != tt.files || strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %d files, %q, %v; want %d, %q", tt.paths, files, got, err, tt.files, tt.want)
		}
	}
	for _, path := range []string{"nowhere", "gone.md", "bad.md/x"} {
		if _, _, err := agentdefs.Lint(t.Context(), []string{"bad.md", path}, nil); err == nil || path != "bad.md/x" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want that it does not exist", path, err)
		}
	}
}

// TestLintAgrees holds that a file checked by itself has the diagnostics that
// it has where it is served.
func TestLintAgrees(t *testing.T) {
	for _, want := range readCorpus(t) {
		file := filepath.Join("testdata/corpus", filepath.FromSlash(want.File))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		served := agentdefstest.Codes(agentdefstest.Load(t, map[string]string{".claude/agents/" + filepath.Base(file): string(data)}, nil))
		found, _, err := agentdefs.Lint(t.Context(), []string{file}, nil)
		var codes []string
		for _, d := range found {
			codes = append(codes, d.Code)
		}
		if err != nil || !slices.Equal(codes, served) {
			t.Errorf("%s: %v, %v; served %v", file, codes, err, served)
		}
	}
}
