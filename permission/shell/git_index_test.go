package shell

import (
	"os"
	"path/filepath"
	"slices"
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
