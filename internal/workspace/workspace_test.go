package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/workspace"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func mkdir(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFind(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := mkdir(t, base, "my repo.v2")
	mkdir(t, repo, ".git")
	deep := mkdir(t, repo, "a", "b")
	plain := mkdir(t, base, "plain")
	worktree := mkdir(t, base, "worktree")
	if err := errors.Join(
		os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: elsewhere\n"), 0o644),
		os.Symlink(deep, filepath.Join(base, "link")),
	); err != nil {
		t.Fatal(err)
	}
	getenv := env(map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "/state"})
	tests := []struct{ dir, root, id string }{
		{repo, repo, `^my-repo-v2-[0-9a-f]{8}$`},
		{deep, repo, `^my-repo-v2-[0-9a-f]{8}$`},
		{filepath.Join(base, "link"), repo, `^my-repo-v2-[0-9a-f]{8}$`},
		{plain, plain, `^plain-[0-9a-f]{8}$`},
		{worktree, worktree, `^worktree-[0-9a-f]{8}$`},
	}
	ids := make(map[string]string)
	for _, tt := range tests {
		ws, err := workspace.Find(&workspace.Options{Dir: tt.dir, Getenv: getenv})
		if err != nil {
			t.Errorf("Find(%s): %v", tt.dir, err)
			continue
		}
		if ws.Root != tt.root || !regexp.MustCompile(tt.id).MatchString(ws.ID) || ws.StateDir != "/state/agentworker/"+ws.ID || ws.Home != "/home/u" {
			t.Errorf("Find(%s) = %+v, want root %s, id %s", tt.dir, ws, tt.root, tt.id)
		}
		if other, ok := ids[ws.ID]; ok && other != ws.Root {
			t.Errorf("%s and %s have one id", other, ws.Root)
		}
		ids[ws.ID] = ws.Root
	}
}

func TestFindOptions(t *testing.T) {
	dir := t.TempDir()
	ws, err := workspace.Find(&workspace.Options{Dir: dir, Name: "shop", StateDir: "rel", Getenv: env(map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "not/absolute"})})
	if err != nil {
		t.Fatal(err)
	}
	if ws.ID != "shop" || !filepath.IsAbs(ws.StateDir) || filepath.Base(ws.StateDir) != "rel" {
		t.Errorf("%+v", ws)
	}
	if ws, err := workspace.Find(&workspace.Options{Dir: dir, Name: "shop", Getenv: env(map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "not/absolute"})}); err != nil || ws.StateDir != "/home/u/.local/state/agentworker/shop" {
		t.Errorf("a relative XDG_STATE_HOME: %+v, %v", ws, err)
	}
	for _, name := range []string{"a.b", "a b", "*", ">", "ü", strings.Repeat("x", 65)} {
		if ws, err := workspace.Find(&workspace.Options{Dir: dir, Name: name, Getenv: env(map[string]string{"HOME": "/h"})}); err == nil {
			t.Errorf("the name %q was accepted: %+v", name, ws)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, filepath.Join(dir, "missing")} {
		if _, err := workspace.Find(&workspace.Options{Dir: bad, Getenv: env(map[string]string{"HOME": "/h"})}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("Find(%s): %v", bad, err)
		}
	}
	if _, err := workspace.Find(&workspace.Options{Dir: dir, Getenv: env(nil)}); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("without a home folder: %v", err)
	}
}

func TestMakeStateDir(t *testing.T) {
	dir := t.TempDir()
	open := mkdir(t, dir, "home", "ws-01234567") // below the state home: ours
	named := mkdir(t, dir, "named")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, good := range []string{filepath.Join(dir, "new", "deep"), open} {
		ws := &workspace.Workspace{StateDir: good, StateHome: filepath.Join(dir, "home")}
		if err := ws.MakeStateDir(); err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		info, err := os.Stat(good)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v, %v", good, info.Mode(), err)
		}
		if left, err := os.ReadDir(good); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v, %v", good, left, err)
		}
	}
	ws := &workspace.Workspace{StateDir: named, StateHome: filepath.Join(dir, "home")}
	if err := ws.MakeStateDir(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(named); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a folder that the user named: mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(named, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := ws.MakeStateDir(); err == nil || !strings.Contains(err.Error(), "written by everyone") {
		t.Errorf("a folder that everyone can write: %v", err)
	}
	for _, bad := range []string{file, filepath.Join(file, "below")} {
		ws := &workspace.Workspace{StateDir: bad}
		if err := ws.MakeStateDir(); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
