package control_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/tool/internal/control"
)

// BenchmarkFind measures a look at a workspace that has not changed.
func BenchmarkFind(b *testing.B) {
	for _, folders := range []int{500, 5000} {
		b.Run(fmt.Sprintf("folders=%d", folders), func(b *testing.B) {
			root := b.TempDir()
			for i := range folders {
				if err := os.MkdirAll(filepath.Join(root, fmt.Sprintf("p%d/d%d", i/20, i%20)), 0o755); err != nil {
					b.Fatal(err)
				}
			}
			f := &control.Finder{Root: root, Home: b.TempDir(), Folders: []string{".agents/agents", ".claude/agents", ".agents/skills"}}
			f.Find()
			for b.Loop() {
				f.Find()
			}
		})
	}
}
