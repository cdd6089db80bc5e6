package replaymodel_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/model/replaymodel"
)

// TestLoadRefuses: what is not a file is refused without being read.
func TestLoadRefuses(t *testing.T) {
	for path, want := range map[string]string{
		t.TempDir():                           "not a regular file",
		"/dev/zero":                           "replay script",
		filepath.Join(t.TempDir(), "missing"): "replay script",
	} {
		if m, err := replaymodel.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%s) = %v, %v, want an error with %q", path, m, err, want)
		}
	}
}
