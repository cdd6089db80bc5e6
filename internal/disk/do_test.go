package disk_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentworker/worker/internal/disk"
)

// TestDo: a file system that does not answer is given up.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(chan struct{})
		_, err := disk.Do(func() (string, error) { <-hung; return "", nil })
		if err == nil || !strings.Contains(err.Error(), "has not answered within 10s") {
			t.Errorf("a file system that does not answer: %v", err)
		}
		close(hung)
	})
	if root, err := disk.Do(func() (string, error) { return "root", nil }); root != "root" || err != nil {
		t.Errorf("one that does: %q, %v", root, err)
	}
}
