package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestListens: no socket listens before a second process requests the store; then
// one does, on loopback.
func TestListens(t *testing.T) {
	dir := t.TempDir()
	before := listeners(t)
	open(t, dir)
	if now := listeners(t); len(now) != len(before) {
		t.Errorf("alone it listens on %v, before on %v", now, before)
	}
	open(t, dir)
	now := listeners(t)
	if len(now) != len(before)+1 {
		t.Errorf("with a follower it listens on %v, before on %v", now, before)
	}
	for at := range now {
		if before[at] {
			continue
		}
		if !strings.HasPrefix(at, "0100007F:") { // 127.0.0.1
			t.Errorf("it listens on %s, which is not on loopback", at)
		}
	}
}

// listeners returns the addresses on which this process listens.
func listeners(t *testing.T) map[string]bool {
	t.Helper()
	ours := make(map[string]bool)
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			ours[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	found := make(map[string]bool)
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue // no such protocol here
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && ours[fields[9]] { // LISTEN
				found[fields[1]] = true
			}
		}
	}
	return found
}
