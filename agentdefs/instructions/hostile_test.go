//go:build unix

package instructions_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentworker/worker/agentdefs/instructions"
)

// attack is what a repository may try with its files.
type attack struct {
	name          string
	make          func(t *testing.T, dir string)
	content, warn string
}

// pipe makes one.
func pipe(name string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// large makes a file of 1 GiB, whose end is no text, and is not read.
func large(name string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		write(t, dir, name, strings.Repeat("text ", 10_000))
		if err := os.Truncate(filepath.Join(dir, name), 1<<30); err != nil {
			t.Fatal(err)
		}
	}
}

// attacks are on the file itself, with a folder outside of the workspace.
func attacks(outside string) []attack {
	return []attack{
		{"a link within", func(t *testing.T, dir string) { write(t, dir, "x.md", "kind"); link(t, dir, "AGENTS.md", "x.md") }, "kind", ""},
		{"a link out", func(t *testing.T, dir string) { link(t, dir, "AGENTS.md", filepath.Join(outside, "secret.md")) }, "", "leads out of the workspace"},
		{"a link to no text", func(t *testing.T, dir string) { write(t, dir, ".env", "KEY=1"); link(t, dir, "AGENTS.md", ".env") }, "", "no .md file"},
		{"a link to nothing", func(t *testing.T, dir string) { link(t, dir, "AGENTS.md", "gone.md") }, "", "not given to agents"},
		{"a link to itself", func(t *testing.T, dir string) { link(t, dir, "AGENTS.md", "AGENTS.md") }, "", "not given to agents"},
		{"a folder", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md/x", "") }, "", "not a regular file"},
		{"a pipe", pipe("AGENTS.md"), "", "not a regular file"},
		{"binary", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "a\x00b") }, "", "not UTF-8 text"},
		{"another encoding", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "caf\xe9") }, "", "not UTF-8 text"},
		{"empty", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", " \n") }, "", ""},
		{"long", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", strings.Repeat("ä€", 20_000)) }, "ä€", "longer than 32 KiB"},
		{"1 GiB", large("AGENTS.md"), "text text", "longer than 32 KiB"},
		{"a device", func(t *testing.T, dir string) { link(t, dir, "AGENTS.md", "/dev/zero") }, "", "leads out of the workspace"},
	}
}

// importAttacks are on imports and rules.
func importAttacks(outside string) []attack {
	return []attack{
		{"an import of a device", func(t *testing.T, dir string) {
			write(t, dir, "AGENTS.md", "text @/dev/zero @zero")
			link(t, dir, "zero", "/dev/zero")
		}, "text", "@zero is not read: it leads out"},
		{"an import of a pipe", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "text @pipe"); pipe("pipe")(t, dir) }, "text", "not a regular file"},
		{"an import of 1 GiB", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "text @large"); large("large")(t, dir) }, "text", "longer than 32 KiB"},
		{"an import of no text", func(t *testing.T, dir string) {
			write(t, dir, "AGENTS.md", "text @a.png")
			write(t, dir, "a.png", "\x89PNG\x00")
		}, "text", "@a.png is not read: it is not UTF-8 text"},
		{"an import out", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "text\n@../secret.md") }, "text", "@../secret.md is not read: it leads out"},
		{"an import of another's", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "text @~/.ssh/id.md") }, "text", "@~/.ssh/id.md is not read: it leads out"},
		{"an import by a link out", func(t *testing.T, dir string) {
			write(t, dir, "AGENTS.md", "text @out/secret.md")
			link(t, dir, "out", outside)
		}, "text", "@out/secret.md is not read: it leads out"},
		{"an import of nothing", func(t *testing.T, dir string) { write(t, dir, "AGENTS.md", "text @gone.md") }, "text", "@gone.md is not read"},
		{"a circle", func(t *testing.T, dir string) {
			write(t, dir, "AGENTS.md", "text @a.md @AGENTS.md")
			write(t, dir, "a.md", "@b.md x")
			write(t, dir, "b.md", "@a.md @AGENTS.md @b.md y")
		}, "text", ""},
		{"many imports", func(t *testing.T, dir string) {
			var b strings.Builder
			for i := range 60 {
				fmt.Fprintf(&b, "@%d.md\n", i)
				write(t, dir, fmt.Sprintf("%d.md", i), fmt.Sprint(i))
			}
			write(t, dir, "AGENTS.md", "text\n"+b.String())
		}, "text", "imports more than 50 files"},
		{"rules behind a link out", func(t *testing.T, dir string) {
			write(t, dir, ".cursor/x", "")
			link(t, dir, ".cursor/rules", outside)
		}, "", ".cursor/rules: it is not given"},
		{"a rule that is a link out", func(t *testing.T, dir string) {
			write(t, dir, ".claude/rules/x", "")
			link(t, dir, ".claude/rules/a.md", filepath.Join(outside, "secret.md"))
		}, "", ".claude/rules/a.md: it is not given to agents: it leads out"},
		{"a rule that does not end", func(t *testing.T, dir string) { write(t, dir, ".claude/rules/a.md", "---\npaths: a\n") }, "", "the frontmatter does not end"},
		{"a rule for nobody", func(t *testing.T, dir string) { write(t, dir, ".claude/rules/a.md", "---\npaths: {a: b}\n---\nx") }, "", "no pattern says which"},
		{"a pattern out", func(t *testing.T, dir string) { write(t, dir, ".claude/rules/a.md", "---\npaths: ../x, x\n---\nx") }, "", "is not used"},
	}
}

// TestHostile: nothing outside of the workspace is given, nothing waits, and all of it is said.
func TestHostile(t *testing.T) {
	outside := workspace(t, map[string]string{"secret.md": "outside"})
	for _, tt := range append(attacks(outside), importAttacks(outside)...) {
		t.Run(tt.name, func(t *testing.T) {
			dir := workspace(t, nil)
			tt.make(t, dir)
			var logged bytes.Buffer
			r := instructions.NewReader(dir, &instructions.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			got := r.Current()
			if r.Current() != got {
				t.Error("it is another one though nothing has changed")
			}
			content, sum := "", 0
			for i, f := range got.Given {
				if i == 0 {
					content = f.Content
				}
				sum += len(f.Content)
				if strings.Contains(f.Content, "outside") {
					t.Errorf("%s is given", f.Name)
				}
			}
			if !strings.HasPrefix(content, tt.content) || tt.content == "" && content != "" || sum > instructions.MaxBytes {
				t.Errorf("content of %d bytes, %.40q", sum, content)
			}
			var found strings.Builder
			for _, d := range got.Diagnostics() {
				fmt.Fprintf(&found, "%s: %s\n", d.File, d.Message)
			}
			if (tt.warn == "") != (found.Len() == 0) || !strings.Contains(found.String(), tt.warn) || strings.Count(logged.String(), "level=WARN") != len(got.Diagnostics()) {
				t.Errorf("found %q, logged %q, want %q", found.String(), logged.String(), tt.warn)
			}
		})
	}
}
