package tool_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/agentworker/worker/tool"
)

// BenchmarkShell measures a call of shell_exec, with the look at what it wants. The first call is not
// counted: it starts the session's sandbox and reads the workspace. WORKER_TEST_LONG=1 adds a workspace of 100,000 files.
func BenchmarkShell(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		median(b, func() { _ = exec.Command("bash", "-c", "true").Run() })
	})
	sizes := []int{10_000}
	if os.Getenv("WORKER_TEST_LONG") != "" {
		sizes = append(sizes, 100_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("files=%d", n), func(b *testing.B) {
			files := make(map[string]string, n)
			for i := range n {
				name := fmt.Sprintf("f%d.js", i)
				if i%1000 == 7 {
					name = "local.env"
				}
				files[fmt.Sprintf("p%d/d%d/%s", i/200, i/20%10, name)] = ""
			}
			folders := []string{".agents/agents", ".claude/agents", ".agents/skills"}
			p := newPlace(b, &tool.Options{
				Home: b.TempDir(), AgentFiles: tool.AgentFiles{Folders: folders}, Sandbox: tool.SandboxOptions{Protected: folders},
			}, files)
			call := func() {
				if _, err := p.tools["shell_exec"].Values([]byte(`{"command": "true"}`)); err != nil {
					b.Fatal(err)
				}
				if r := p.exec(`{"*": "allow", "read_file": {"*": "allow", "*.env": "deny"}}`, "true", nil); r.IsError {
					b.Fatal(r.Text)
				}
			}
			call()
			median(b, call)
		})
	}
}

// median reports the median of what f takes.
func median(b *testing.B, f func()) {
	b.Helper()
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		f()
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-p50")
}
