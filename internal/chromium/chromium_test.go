package chromium_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/internal/chromium"
)

// TestPath: each name of the browser is found, and it is said where there is none.
func TestPath(t *testing.T) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		if path, err := chromium.Path(); !errors.Is(err, chromium.ErrNone) {
			t.Errorf("an empty PATH: %q, %v", path, err)
		}
		want := filepath.Join(dir, name)
		if err := os.WriteFile(want, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if path, err := chromium.Path(); path != want || err != nil {
			t.Errorf("%q, %v; want %s", path, err, want)
		}
	}
}
