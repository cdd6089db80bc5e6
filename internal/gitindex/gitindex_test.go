package gitindex

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository returns the folder of a new repository, after setup.
func repository(t testing.TB, setup string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", "git init -q .; mkdir src; echo k > .env; echo x > README.md; echo x > src/main.go;"+setup)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "HOME="+root, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setup: %v\n%s", err, out)
	}
	return root
}

func TestFiles(t *testing.T) {
	want := []string{".env", "README.md", "src/a much longer name than the others.go", "src/main.go"}
	for _, version := range []string{"2", "3", "4"} {
		root := repository(t, "echo > 'src/a much longer name than the others.go'; git add -f .env README.md src; git update-index --index-version "+version)
		top, files, err := Files(filepath.Join(root, "src"))
		if err != nil || top != root || !slices.Equal(files, want) {
			t.Errorf("version %s: got %s %q, %v, want %s %q", version, top, files, err, root, want)
		}
	}
	if top, files, err := Files(t.TempDir()); err != nil || top != "" || files != nil {
		t.Errorf("no repository: got %q %q, %v, want nothing", top, files, err)
	}
}

func FuzzParseIndex(f *testing.F) {
	root := repository(f, "git add -f .")
	data, err := os.ReadFile(filepath.Join(root, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if files, err := parse(data); err == nil && len(files) > len(data)/62 {
			t.Errorf("%d files of %d bytes", len(files), len(data))
		}
	})
}

// In version 4 a path is written as a change to the one before it, so a small
// file can have endless paths.
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
	if files, err := parse(index(1000)); err != nil || len(files) != 2 || len(files[1]) != 1001 {
		t.Errorf("paths of 1,000 bytes: got %d files, %v", len(files), err)
	}
	if files, err := parse(index(maxPath)); err == nil {
		t.Errorf("a path of more than %d bytes: got %d files, want an error", maxPath, len(files))
	}
}

// parse returns the paths in an index.
func parse(data []byte) (files []string, err error) {
	err = parseIndex(data, maxFiles, func(path string, _ []byte) { files = append(files, path) })
	return files, err
}
