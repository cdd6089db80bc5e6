package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox"
)

// effect is a row of effects_sample.jsonl: a command that was seen to do in a
// shell what the rules deny.
type effect struct {
	Rules json.RawMessage
	Args  struct{ Command string }
	Why   string
	Setup string
	Proof string // leak, rm or write:PATH
}

// effects returns some rows: every 32nd, or every eighth with WORKER_TEST_LONG=1.
// All of them take minutes, several times over: SANDBOX_ROWS=all (make soak).
func effects(t testing.TB) []effect {
	t.Helper()
	file, err := os.Open("../testdata/permission/effects_sample.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []effect
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e effect
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	if os.Getenv("SANDBOX_ROWS") == "all" {
		return out
	}
	var some []effect
	for i := 0; i < len(out); i += rounds(32, 8) {
		some = append(some, out[i])
	}
	return some
}

// rounds returns how much of a long test is done: all of it if WORKER_TEST_LONG is set, as by
// make soak.
func rounds(short, long int) int {
	if os.Getenv("WORKER_TEST_LONG") != "" {
		return long
	}
	return short
}

// repository is what the setups of the rows begin in.
const repository = "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m root && "

// mark is what the secrets of the rows hold.
const mark = "S3CRETMARK"

// happened reports whether the row's effect can be seen in root.
func (e *effect) happened(root, out string, before []byte) bool {
	path, isWrite := strings.CutPrefix(e.Proof, "write:")
	switch {
	case e.Proof == "leak":
		return strings.Contains(out, mark)
	case e.Proof == "rm":
		_, err := os.Lstat(filepath.Join(root, "data/x"))
		return err != nil
	case isWrite:
		return !bytes.Equal(snapshot(root, path), before)
	}
	panic("unknown proof " + e.Proof)
}

// snapshot tells versions of a file apart, and that there is none.
func snapshot(root, path string) []byte {
	info, err := os.Lstat(filepath.Join(root, path))
	if err != nil {
		return nil
	}
	text, _ := os.ReadFile(filepath.Join(root, path))
	return append([]byte(info.Mode().Type().String()+"\n"), text...)
}

// target is the path that the row writes; "" none.
func (e *effect) target() string {
	path, _ := strings.CutPrefix(e.Proof, "write:")
	return path
}

// byGit reports whether the row reads the secret from git's object store. Such
// a call is asked about before, and no sandbox knows what an object is.
func (e *effect) byGit() bool {
	return e.Proof == "leak" && strings.Contains(e.Args.Command, "git ") && strings.Contains(e.Setup, "git add -f")
}

// TestEffects runs each row for real: with its rules, and with all else
// allowed, so that only the denied path is held.
func TestEffects(t *testing.T) {
	var control atomic.Int32
	rows := effects(t)
	for _, e := range rows {
		t.Run(e.Args.Command, func(t *testing.T) {
			t.Parallel()
			if e.control(t) {
				control.Add(1)
			}
			variants := []string{string(e.Rules)}
			if e.Proof != "rm" { // else a command is denied, and no file
				variants = append(variants, `{"*": "allow", `+strings.TrimPrefix(strings.TrimSpace(string(e.Rules)), "{"))
			}
			for _, text := range variants {
				p := newPlace(t, text, repository+e.Setup, sandbox.Options{})
				before := snapshot(p.root, e.target())
				out := p.limited(e.Args.Command)
				if e.happened(p.root, out, before) && !e.byGit() {
					t.Errorf("%s\n%s happened with %s\n%s", e.Why, e.Proof, text, out)
				}
				// Nor does it happen by a second call, after what the first did.
				if everySecretIsDenied := bytes.Contains(e.Rules, []byte("secrets/**")); everySecretIsDenied && e.Proof == "leak" && !e.byGit() {
					if out := p.limited("grep -r --binary-files=text " + mark + " . /tmp"); strings.Contains(out, mark) {
						t.Errorf("%s\nthe next call sees it with %s\n%s", e.Why, text, out)
					}
				}
			}
		})
	}
	t.Cleanup(func() {
		if n := int(control.Load()); n < len(rows)/2 && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
			t.Errorf("%d rows have their effect without a sandbox, want half of %d or more: are their programs installed?", n, len(rows))
		}
		t.Logf("%d rows have their effect without a sandbox", control.Load())
	})
}

// control runs the row without a sandbox.
func (e *effect) control(t *testing.T) bool {
	t.Helper()
	p := &place{t: t, root: t.TempDir()}
	p.script(repository + e.Setup)
	before := snapshot(p.root, e.target())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", e.Args.Command)
	cmd.Dir = p.root
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	return e.happened(p.root, string(out), before)
}

// limited runs a command that may wait for ever.
func (p *place) limited(command string) string {
	p.t.Helper()
	out, _ := p.run("timeout -s KILL 20 bash -c " + quote(command))
	return out
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
