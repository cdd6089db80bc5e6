//go:build unix

package ownpath_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/ownpath"
)

// program writes a program.
func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// TestLeave: no program is taken that an agent can write, by whatever way PATH leads there.
func TestLeave(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(dir, "ws")
	program(t, filepath.Join(ws, ".venv", "bin", "tool"))
	own := program(t, filepath.Join(dir, "own", "tool"))
	link(t, filepath.Join(ws, ".venv"), filepath.Join(dir, "venv"))
	link(t, filepath.Join(ws, ".venv", "bin", "tool"), filepath.Join(dir, "home", "tool"))
	link(t, filepath.Join(dir, "own"), filepath.Join(ws, "away"))              // leads out, but the agent can change where to
	link(t, filepath.Join(ws, "away"), filepath.Join(dir, "through"))          // by way of the workspace
	link(t, "../own/tool", filepath.Join(dir, "links", "tool"))                // a link of the person
	link(t, filepath.Join(dir, "loop"), filepath.Join(dir, "loop"))            // can't be followed
	link(t, ws, filepath.Join(dir, "ws2"))                                     // another name
	link(t, filepath.Join(ws, "later", "bin"), filepath.Join(dir, "laterbin")) // not there yet
	t.Chdir(ws)

	bad := []string{
		filepath.Join(ws, ".venv", "bin"), ".venv/bin", "", ".", filepath.Join(dir, "venv", "bin"), filepath.Join(ws, "away"), filepath.Join(dir, "through"),
		filepath.Join(dir, "loop"), filepath.Join(dir, "ws2", ".venv", "bin"), dir + "/own/../ws/.venv/bin", filepath.Join(dir, "laterbin"),
	}
	for _, entry := range append(bad, filepath.Join(dir, "home")) {
		env := []string{"PATH=" + entry}
		if path, err := ownpath.LookIn("tool", env, ws); err == nil {
			t.Errorf("PATH=%s: %s was taken", entry, path)
		}
		if path, err := ownpath.LookIn("tool", []string{"PATH=" + entry + ":" + filepath.Join(dir, "own")}, ws); err != nil || path != own {
			t.Errorf("PATH=%s and the person's own folder: %q, %v", entry, path, err)
		}
	}
	if path, err := ownpath.LookIn("tool", []string{"PATH=" + filepath.Join(dir, "links")}, ws); err != nil || path != filepath.Join(dir, "links", "tool") {
		t.Errorf("a link of the person: %q, %v", path, err)
	}
	if _, err := ownpath.LookIn("tool", []string{"PATH=" + bad[0]}, ws); err == nil || !strings.Contains(err.Error(), "tool is in PATH only as "+bad[0]) {
		t.Errorf("the error is %v", err)
	}

	ownpath.Leave(ws)
	t.Setenv("PATH", bad[0]+":"+filepath.Join(dir, "own"))
	if path, err := ownpath.Look("tool"); err != nil || path != own {
		t.Errorf("Look: %q, %v", path, err)
	}
	if path, err := ownpath.Look("./.venv/bin/tool"); err != nil {
		t.Errorf("a path of the person: %q, %v", path, err)
	}
	for _, entry := range bad {
		if env := ownpath.Environ([]string{"A=1", "PATH=" + entry + ":" + filepath.Join(dir, "own"), "B=2"}); !slices.Equal(env, []string{"A=1", "PATH=" + filepath.Join(dir, "own"), "B=2"}) {
			t.Errorf("PATH=%s: %q", entry, env)
		}
		if env := ownpath.Environ([]string{"PATH=" + entry}); !slices.Equal(env, []string{"PATH=" + os.DevNull}) {
			t.Errorf("PATH=%s alone: %q", entry, env)
		}
	}
}
