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

// BenchmarkRemove is what removing one file costs: one that the command has made itself, one that was there before it,
// and one in a folder of which an upper folder has changed meanwhile.
func BenchmarkRemove(b *testing.B) {
	const script = `import os, time
t = time.perf_counter()
for i in range(2000):
    os.unlink("d/x%d" % i)
print((time.perf_counter() - t) / 2000 * 1e6)`
	const fill = "mkdir d; for i in $(seq 0 1999); do echo > d/x$i; done; "
	for name, c := range map[string]struct{ setup, before string }{
		"own": {"", fill}, "old": {fill + "sleep 0.1", ""}, "old, near a new one": {fill + "sleep 0.1", "echo > new; "},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p := newPlace(b, secretRules, c.setup, sandbox.Options{})
				out, _ := p.run(c.before + "python3 -c " + quote(script))
				us, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
				if err != nil {
					b.Fatalf("%v: %s", err, out)
				}
				b.ReportMetric(us, "us/file")
			}
		})
	}
}
