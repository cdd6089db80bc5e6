package fileinfo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentworker/worker/internal/fileinfo"
)

func TestSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	look := func() fs.FileInfo {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	first := look()
	if !fileinfo.Same(first, look()) || !fileinfo.Same(nil, nil) || fileinfo.Same(first, nil) || fileinfo.Same(nil, first) {
		t.Error("what was not changed is not the same")
	}
	write("longer")
	longer := look()
	if fileinfo.Same(first, longer) {
		t.Error("another size is the same")
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if fileinfo.Same(longer, look()) {
		t.Error("another time is the same")
	}
}
