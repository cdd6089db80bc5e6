package shell

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTrackedFiles(t *testing.T) {
	want := []string{".env", "README.md", "src/a much longer name than the others.go", "src/main.go"}
	for _, version := range []string{"2", "3", "4"} {
		w := gitWorkspace(t, "echo > 'src/a much longer name than the others.go'; git add -f .env README.md src; git update-index --index-version "+version)
		top, files, err := trackedFiles(filepath.Join(w.Root, "src"))
		if err != nil || top != w.Root || !slices.Equal(files, want) {
			t.Errorf("version %s: got %s %q, %v, want %s %q", version, top, files, err, w.Root, want)
		}
	}
	if top, files, err := trackedFiles(t.TempDir()); err != nil || top != "" || files != nil {
		t.Errorf("no repository: got %q %q, %v, want nothing", top, files, err)
	}
}

func FuzzParseIndex(f *testing.F) {
	w := gitWorkspace(f, "git add -f .")
	data, err := os.ReadFile(filepath.Join(w.Root, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if files, err := parseIndex(data); err == nil && len(files) > len(data)/62 {
			t.Errorf("%d files of %d bytes", len(files), len(data))
		}
	})
}

// In version 4 a path is told as a change to the one before it, so a small file
// can stand for paths without end.
func TestIndexOfLongPaths(t *testing.T) {
	entry := func(size int, tail string) []byte {
		e := make([]byte, 62, 64+len(tail))
		binary.BigEndian.PutUint16(e[60:], uint16(min(size, 0xFFF)))
		e = append(e, 0) // nothing of the path before is dropped
		return append(append(e, tail...), 0)
	}
	index := func(first int) []byte {
		data := []byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x02")
		data = append(data, entry(first, strings.Repeat("a", first))...)
		return append(data, entry(first+1, "b")...)
	}
	if files, err := parseIndex(index(1000)); err != nil || len(files) != 2 || len(files[1]) != 1001 {
		t.Errorf("paths of 1,000 bytes: got %d files, %v", len(files), err)
	}
	if files, err := parseIndex(index(maxIndexPath)); err == nil {
		t.Errorf("a path of more than %d bytes: got %d files, want an error", maxIndexPath, len(files))
	}
}
