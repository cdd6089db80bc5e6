package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/agentworker/worker/internal/atomicfile"
)

// holds checks the text and mode of a file, and that nothing is beside it.
func holds(t *testing.T, path, want string, mode fs.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != want {
		t.Errorf("the file holds %q, %v, want %q", data, err, want)
	}
	if info, err := os.Lstat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != mode {
		t.Errorf("the file is %v, %v, want mode %v", info, err, mode)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v, want one file", entries, err)
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, step := range []struct {
		text string
		mode fs.FileMode
	}{{"one", 0o600}, {"two", 0o666}, {"", 0o400}, {"three", 0o644}} {
		if err := atomicfile.Write(path, []byte(step.text), step.mode); err != nil {
			t.Fatal(err)
		}
		holds(t, path, step.text, step.mode)
	}
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := atomicfile.Create(path, []byte("first"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Create(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	holds(t, path, "first", 0o640)
}

// TestNotReplaced: what can't be put in place leaves nothing behind.
func TestNotReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, nil, 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	staged, err := atomicfile.Stage(path, nil, 0o600)
	if err == nil {
		err = staged.Discard()
	}
	if entries, _ := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "missing", "file"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is missing: %v", err)
	}
}
