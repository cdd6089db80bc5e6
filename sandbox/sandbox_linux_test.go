package sandbox_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

// place is a workspace with a session's sandbox.
type place struct {
	t       testing.TB
	root    string
	home    string
	session *sandbox.Session
	input   sandbox.Input
}

func rules(t testing.TB, json string) *permission.Ruleset {
	t.Helper()
	set, err := permission.ParseJSON([]byte(json), "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// newPlace makes a workspace by a script of bash, and opens a session in it.
func newPlace(t testing.TB, rulesJSON, setup string, opts sandbox.Options) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, root: filepath.Join(root, "ws"), home: filepath.Join(root, "home")}
	for _, d := range []string{p.root, p.home, filepath.Join(root, "state")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.script(setup)
	opts.Dir = filepath.Join(root, "state")
	if opts.Mode == "" {
		opts.Mode = sandbox.Required
	}
	p.session, err = sandbox.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.session.Close(); err != nil {
			t.Error(err)
		}
	})
	p.input = sandbox.Input{
		Layers:    &permission.Layers{Agents: []*permission.Ruleset{rules(t, rulesJSON)}},
		Workspace: permission.Workspace{Root: p.root, Home: p.home},
		Protected: []string{".agents/agents"},
		Hidden:    []string{filepath.Join(root, "state")},
	}
	return p
}

// script runs a script of bash in the workspace, outside of any sandbox.
func (p *place) script(text string) {
	p.t.Helper()
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir = p.root
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("setup: %v\n%s", err, out)
	}
}

func (p *place) start(out *os.File, command string) *sandbox.Process {
	p.t.Helper()
	proc, err := p.session.Start(p.t.Context(), &sandbox.Command{
		Profile: sandbox.NewProfile(p.input),
		Args:    []string{"bash", "-c", command},
		Env:     append(sandbox.Environ(os.Environ(), sandbox.EnvRules{}, p.root), "HOME="+p.home),
		Stdout:  out, Stderr: out,
	})
	if err != nil {
		p.t.Fatalf("%s: %v", command, err)
	}
	return proc
}

// run runs a command in the sandbox and returns what it wrote.
func (p *place) run(command string) (string, *sandbox.Process) {
	p.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Close()
	proc := p.start(w, command)
	w.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := proc.Wait(); err != nil {
		p.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out), proc
}

const all = `{"*": "allow"}`
