//go:build soak

package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

// BenchmarkCall measures a call, and the same program without a sandbox. It
// reports the median. The first call, which starts the session's namespaces and
// reads the workspace, is not counted.
func BenchmarkCall(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		median(b, func() error { return exec.Command("/bin/true").Run() })
	})
	for _, files := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			root := b.TempDir()
			tree(b, root, files)
			session, err := sandbox.Open(sandbox.Options{Mode: sandbox.Required, Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer session.Close()
			in := sandbox.Input{
				Layers:    &permission.Layers{Static: rules(b, seedRules)},
				Workspace: permission.Workspace{Root: root, Home: b.TempDir()},
			}
			call := func() error {
				p, err := session.Start(b.Context(), &sandbox.Command{Profile: sandbox.NewProfile(in), Args: []string{"/bin/true"}})
				if err == nil {
					_, err = p.Wait()
				}
				return err
			}
			began := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			first := time.Since(began)
			median(b, call)
			b.ReportMetric(float64(first.Microseconds())/1000, "ms-first")
		})
	}
}

// median reports the median of what f takes.
func median(b *testing.B, f func() error) {
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(times[len(times)*9/10].Microseconds())/1000, "ms-p90")
}

// tree makes n files, twenty a folder, as packages of npm have them; one of a
// thousand is denied.
func tree(b *testing.B, root string, n int) {
	b.Helper()
	for i := range n {
		dir := filepath.Join(root, "node_modules", fmt.Sprintf("p%d", i/200), fmt.Sprintf("d%d", i/20%10))
		if i%20 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		name := fmt.Sprintf("f%d.js", i)
		if i%1000 == 7 {
			name = "local.env"
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

const seedRules = `{
	"*": "ask",
	"read_file": {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*credentials*": "deny", "*secret*": "deny", "*.env.example": "allow"},
	"write_file": {"*": "allow", "*.env": "deny", "*.env.*": "deny"},
	"edit_file": {"*": "allow", "*.env": "deny", "*.env.*": "deny"},
}`
