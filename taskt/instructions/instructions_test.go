package instructions_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentworker/worker/taskt/instructions"
)

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCurrent: an agent's context is the current AGENTS.md, else CLAUDE.md (O10).
func TestCurrent(t *testing.T) {
	dir := t.TempDir()
	r := instructions.NewReader(dir, nil)
	if got := r.Current(); got != nil || got.Section() != "" {
		t.Errorf("without a file: %+v", got)
	}
	write(t, dir, "CLAUDE.md", "be kind\n")
	if got := r.Current(); got == nil || got.Name != "CLAUDE.md" || got.Content != "be kind" || got.Warning != "" {
		t.Errorf("with CLAUDE.md: %+v", got)
	}
	write(t, dir, "AGENTS.md", "\ufeffbe quick\r\nand true\r\n")
	got := r.Current()
	if got == nil || got.Name != "AGENTS.md" || got.Content != "be quick\nand true" || !strings.Contains(got.Section(), "(AGENTS.md):\n\nbe quick\n") {
		t.Errorf("with both: %+v", got)
	}
	if again := r.Current(); again != got {
		t.Error("it was read again though it has not changed")
	}
	write(t, dir, "AGENTS.md", "be slow, and longer than before")
	if got := r.Current(); got.Content != "be slow, and longer than before" {
		t.Errorf("after a change: %+v", got)
	}
	if err := os.Remove(filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if got := r.Current(); got.Content != "be kind" {
		t.Errorf("after its end: %+v", got)
	}
}

// TestHostile: what a repository may try with the file.
func TestHostile(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "secret.md", "outside")
	for _, tt := range []struct {
		name          string
		make          func(t *testing.T, dir string)
		content, warn string
	}{
		{"a link within", func(t *testing.T, dir string) { write(t, dir, "CLAUDE.md", "kind"); link(t, "CLAUDE.md", dir) }, "kind", ""},
		{"a link out", func(t *testing.T, dir string) { link(t, filepath.Join(outside, "secret.md"), dir) }, "", "leads out of the workspace"},
		{"a link to no text", func(t *testing.T, dir string) { write(t, dir, ".env", "KEY=1"); link(t, ".env", dir) }, "", "no .md file"},
		{"a link to nothing", func(t *testing.T, dir string) { link(t, "gone.md", dir) }, "", "not given to agents"},
		{"a link to itself", func(t *testing.T, dir string) { link(t, "AGENTS.md", dir) }, "", "not given to agents"},
		{"a folder", func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "AGENTS.md"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "", "no regular file"},
		{"a pipe", func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "AGENTS.md"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "", "no regular file"},
		{"binary", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "a\x00b") }, "", "not UTF-8 text"},
		{"another encoding", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "caf\xe9") }, "", "not UTF-8 text"},
		{"empty", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", " \n"); write(t, dir, "CLAUDE.md", "x") }, "", ""},
		{"long", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", strings.Repeat("ä€", 20_000)) }, "ä€", "longer than 32 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			tt.make(t, dir)
			var logged bytes.Buffer
			r := instructions.NewReader(dir, slog.New(slog.NewTextHandler(&logged, nil)))
			got := r.Current()
			if again := r.Current(); got == nil || again != got {
				t.Fatalf("%+v, and then %+v", got, again)
			}
			if !strings.HasPrefix(got.Content, tt.content) || tt.content == "" && got.Content != "" || len(got.Content) > instructions.MaxBytes {
				t.Errorf("content of %d bytes, %.40q", len(got.Content), got.Content)
			}
			if (tt.warn == "") != (got.Warning == "") || !strings.Contains(got.Warning, tt.warn) || strings.Count(logged.String(), "level=WARN") != min(1, len(tt.warn)) {
				t.Errorf("warning %q, logged %q, want %q once", got.Warning, logged.String(), tt.warn)
			}
			if strings.Contains(got.Section(), "cut off") != (tt.name == "long") {
				t.Errorf("%s", got.Section()[max(0, len(got.Section())-60):])
			}
		})
	}
}

func link(t *testing.T, to, dir string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
}
