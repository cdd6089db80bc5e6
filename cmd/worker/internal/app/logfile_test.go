package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestLogFile: the log and the one before it are all that is kept, whole lines,
// however many processes write there.
func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker.log")
	var writers sync.WaitGroup
	for w := range 3 {
		log, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		log.max = 1000
		writers.Go(func() {
			for i := range 200 {
				if _, err := fmt.Fprintf(log, "writer %d line %03d of a log\n", w, i); err != nil {
					t.Error(err)
				}
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
			if _, err := log.Write([]byte("late\n")); err == nil {
				t.Error("a write to a closed log: no error")
			}
		})
	}
	writers.Wait()
	for _, name := range []string{path, path + oldLog} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// Each of the writers may be one line beyond.
		if len(data) > 1000+3*30 {
			t.Errorf("%s has %d bytes, want about 1000 at most", name, len(data))
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "writer ") || !strings.HasSuffix(line, " of a log\n") {
				t.Errorf("%s has the line %q", name, line)
			}
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v, want 0600", name, info.Mode(), err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 2 {
		t.Errorf("%d files, %v, want 2", len(files), err)
	}
}
