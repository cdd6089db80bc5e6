package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/snapshot"
)

// TestRevertPutsBack: where a file can't be restored, no file is.
func TestRevertPutsBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		disturb func(name string) error // the last file, after it was read
		path    string
		want    string
	}{
		{"changed", func(name string) error { return os.WriteFile(name, []byte("three"), 0o600) }, "d", snapshot.ErrChanged.Error()},
		{"removed", os.Remove, "d", snapshot.ErrChanged.Error()},
		{"a folder", func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o700)) }, "d", "d is no file any more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, store := t.TempDir(), snapshot.New(t.TempDir())
			was := map[string]string{"a": "one", "b": "", "c": "one", "d": "one"}
			is := map[string]string{"a": "two", "b": "two", "c": "", "d": "two"} // changed, made, removed, changed
			for name, before := range was {
				change := snapshot.Change{Step: 1, Root: dir, Path: name, Mode: 0o600}
				if before != "" {
					change.Before = snapshot.Hash([]byte(before))
				}
				if after := is[name]; after != "" {
					change.After = snapshot.Hash([]byte(after))
					if err := os.WriteFile(filepath.Join(dir, name), []byte(after), 0o640); err != nil {
						t.Fatal(err)
					}
				}
				if err := store.Keep("ses", change, []byte(before)); err != nil {
					t.Fatal(err)
				}
			}
			files, err := store.Files("ses", -1, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.disturb(filepath.Join(dir, c.path)); err != nil {
				t.Fatal(err)
			}
			err = snapshot.Revert(files, false)
			var failed *snapshot.RestoreError
			if !errors.As(err, &failed) || failed.Path != c.path || len(failed.Undone) > 0 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			for _, name := range []string{"a", "b", "c"} {
				content, err := os.ReadFile(filepath.Join(dir, name))
				if string(content) != is[name] || (err == nil) != (is[name] != "") {
					t.Errorf("%s is %q, %v", name, content, err)
				}
			}
			if info, err := os.Stat(filepath.Join(dir, "a")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("a is %v, %v", info, err)
			}
		})
	}
}

// TestKept: a file's error is its own, and a name that the session has not changed has an error that
// callers can tell.
func TestKept(t *testing.T) {
	dir, store := t.TempDir(), snapshot.New(t.TempDir())
	for _, c := range []snapshot.Change{
		{Path: "fine", Root: dir},
		{Path: "folder", Root: dir},
		{Path: "gone", Root: filepath.Join(dir, "worktree")},
		{Path: "lost", Root: dir, Before: snapshot.Hash(nil), Lost: true},
	} {
		if err := store.Keep("ses", c, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Kept("ses", -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, k := range kept {
		if _, err := k.File(); err != nil {
			bad = append(bad, k.Path)
		}
	}
	if want := []string{"folder", "gone", "lost"}; len(kept) != 4 || !slices.Equal(bad, want) {
		t.Errorf("of %d files %v have an error, want %v", len(kept), bad, want)
	}
	if _, err := store.Kept("ses", -1, []string{"fine", "other"}); !errors.Is(err, snapshot.ErrNotChanged) || !strings.HasSuffix(err.Error(), " other") {
		t.Error(err)
	}
	if _, err := store.Kept("../ses", -1, []string{"fine"}); err == nil || errors.Is(err, snapshot.ErrNotChanged) {
		t.Error(err)
	}
}
