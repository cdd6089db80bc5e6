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

// BenchmarkInside measures what a command does itself, beside the same without a sandbox: opening files, making them,
// and the build of a small module.
func BenchmarkInside(b *testing.B) {
	const module = `package main

import ("fmt"; "net/http")

func main() { fmt.Println(http.StatusText(len("%d"))) }
`
	for name, c := range map[string]struct {
		command string
		each    float64
	}{
		"open":     {`for i in {1..1000}; do : < seed; done`, 1000},
		"make":     {`for i in {1..1000}; do : > $1.$i; done`, 1000},
		"go build": {`echo "// $1" >> main.go; go build -o built .`, 1},
	} {
		root := b.TempDir()
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		write("seed", "")
		write("go.mod", "module example.org/small\n\ngo 1.21\n")
		write("main.go", module)
		session, err := sandbox.Open(sandbox.Options{Mode: sandbox.Required, Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		home, err := os.UserHomeDir()
		if err != nil {
			b.Fatal(err)
		}
		in := sandbox.Input{Layers: &permission.Layers{Static: rules(b, seedRules)}, Workspace: permission.Workspace{Root: root, Home: home}}
		n := 0
		args := func() []string { n++; return []string{"/bin/bash", "-c", c.command, "-", fmt.Sprint(n)} }
		bare := func() error {
			cmd := exec.Command("/bin/bash", args()[1:]...)
			cmd.Dir = root
			return cmd.Run()
		}
		held := func() error {
			p, err := session.Start(b.Context(), &sandbox.Command{Profile: sandbox.NewProfile(in), Dir: root, Args: args(), Env: sandbox.Environ(os.Environ(), sandbox.EnvRules{}, root), Stderr: os.Stderr})
			if err != nil {
				return err
			}
			state, err := p.Wait()
			if err == nil && state.ExitCode() != 0 {
				err = fmt.Errorf("exit status %d", state.ExitCode())
			}
			return err
		}
		b.Run(name, func(b *testing.B) { // side by side, under the same load
			var times [2][]time.Duration
			for b.Loop() {
				for i, f := range []func() error{bare, held} {
					began := time.Now()
					if err := f(); err != nil {
						b.Fatal(err)
					}
					times[i] = append(times[i], time.Since(began))
				}
			}
			for i, unit := range []string{"us-bare", "us-held"} {
				slices.Sort(times[i])
				b.ReportMetric(float64(times[i][len(times[i])/2].Microseconds())/c.each, unit)
			}
		})
		if err := session.Close(); err != nil {
			b.Fatal(err)
		}
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
