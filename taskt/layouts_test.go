package taskt_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/instructions"
	"github.com/agentworker/worker/taskt"
)

var update = flag.Bool("update", false, "write the prompts of testdata/layouts anew")

// TestLayouts holds the whole prompt of an agent in repositories as people lay them out: each
// archive names a public one. Its last file is the prompt.
func TestLayouts(t *testing.T) {
	archives, err := filepath.Glob("testdata/layouts/*.txtar")
	if err != nil || len(archives) < 5 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	for _, path := range archives {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir, want := unpack(t, archive)
			got := taskt.SystemPrompt(
				&agentdefs.Definition{Name: "reviewer", File: ".agents/agents/reviewer.md", Prompt: "Review."},
				taskt.Setting{
					Root: "/w", Child: true, Shell: "/bin/bash", Today: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC),
					Text: instructions.NewReader(dir, nil).Current(),
				})
			got = strings.Replace(got, runtime.GOOS+"/"+runtime.GOARCH, "OS/ARCH", 1) + "\n"
			if *update {
				archive.Files = append(archive.Files[:len(archive.Files)-min(1, len(want))], txtar.File{Name: "prompt", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("the prompt is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// unpack writes the files of an archive, and the links, which are files named "link NAME". The
// last file, prompt, is returned.
func unpack(t *testing.T, archive *txtar.Archive) (dir, prompt string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == "prompt" {
			return dir, string(f.Data)
		}
		name, isLink := strings.CutPrefix(f.Name, "link ")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if isLink {
			err = os.Symlink(string(bytes.TrimSpace(f.Data)), path)
		} else {
			err = os.WriteFile(path, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, ""
}
