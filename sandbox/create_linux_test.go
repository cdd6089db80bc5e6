package sandbox_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// BenchmarkCreate is what making one file costs: outside, in a folder where
// anything goes, and in the workspace, where rules judge its name.
func BenchmarkCreate(b *testing.B) {
	const script = `import os, sys, time
t = time.perf_counter()
for i in range(4000):
    os.close(os.open("x%d" % i, os.O_CREAT | os.O_WRONLY))
print((time.perf_counter() - t) / 4000 * 1e6)`
	report := func(b *testing.B, out []byte, err error) {
		us, parseErr := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil || parseErr != nil {
			b.Fatalf("%v, %v: %s", err, parseErr, out)
		}
		b.ReportMetric(us, "us/file")
	}
	b.Run("outside", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("python3", "-c", script)
			cmd.Dir = b.TempDir()
			out, err := cmd.Output()
			report(b, out, err)
		}
	})
	for name, dir := range map[string]string{"tmp": "/tmp", "workspace": "."} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p := newPlace(b, buildRules, "", sandbox.Options{})
				out, _ := p.run("cd " + dir + ";  python3 -c " + quote(script))
				report(b, []byte(out), nil)
			}
		})
	}
}
