//go:build unix

package boundedfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentworker/worker/internal/boundedfile"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"empty": "", "full": strings.Repeat("x", 2048), "large": strings.Repeat("x", 2049)} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "full", "to-pipe": "pipe", "to-zero": "/dev/zero", "loop": "loop"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"empty": "", "full": "", "link": "",
		"large": "is larger than 2 KiB", "pipe": "is not a regular file", "to-pipe": "is not a regular file", "to-zero": "is not a regular file",
		".": "is not a regular file", "loop": "too many levels", "none": "no such file",
	} {
		data, err := boundedfile.Read(at(name), 2048)
		switch {
		case want == "" && (err != nil || len(data) != map[string]int{"empty": 0, "full": 2048, "link": 2048}[name]):
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
