package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

// workerVariable makes the test binary a worker that runs a command and waits, in
// the way that wayVariable says. The command does what thenVariable has, too.
const (
	workerVariable = "SANDBOX_TEST_WORKER"
	wayVariable    = "SANDBOX_TEST_WAY"
	thenVariable   = "SANDBOX_TEST_THEN"
)

// ways are the ways in which a command is run; nil means in no sandbox.
var ways = map[string]func(*sandbox.Support){
	"namespaces":     func(*sandbox.Support) {},
	"Landlock alone": func(s *sandbox.Support) { s.Namespaces = false },
	"none":           nil,
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerVariable); dir != "" {
		if err := workForEver(dir, ways[os.Getenv(wayVariable)]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func workForEver(dir string, way func(*sandbox.Support)) error {
	support := sandbox.Detect()
	if way != nil {
		way(&support)
	}
	session, err := sandbox.Open(sandbox.Options{Mode: sandbox.Auto, Dir: dir, Support: &support})
	if err != nil {
		return err
	}
	in, begin, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := &sandbox.Command{
		Profile: sandbox.NewProfile(sandbox.Input{
			Layers:    &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})},
			Workspace: permission.Workspace{Root: dir},
		}),
		Args: []string{"bash", "-c", "set -m; sleep 1000 & setsid sleep 1000 & (setsid sh -c '(trap \"\" TERM HUP; sleep 1000; sleep 1000) & exit' &); read -r _; " + os.Getenv(thenVariable) + "\necho ready; sleep 1000"},
		Dir:  dir, Env: os.Environ(), Stdin: in, Stdout: os.Stdout,
	}
	start := session.Start
	if way == nil {
		start = session.StartUnheld
	}
	p, err := start(context.Background(), cmd)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(begin); err != nil { // now that the command is known to run
		return err
	}
	_, err = p.Wait()
	return err
}

// TestWorkerIsKilled ends all commands with a worker that has no chance to, also
// where the command has stopped what would end it, as far as it may.
func TestWorkerIsKilled(t *testing.T) {
	for way := range ways {
		for name, then := range map[string]string{"": "", " stopped": "kill -STOP $PPID 2>/dev/null"} {
			t.Run(way+name, func(t *testing.T) {
				killWorker(t, way, then)
			})
		}
	}
}

// TestHelperIsSignalled: what ends a command without a sandbox is a process of the
// same user, which the command can send signals, as by "pkill worker".
func TestHelperIsSignalled(t *testing.T) {
	for _, signal := range []string{"HUP", "INT", "QUIT", "USR1", "ALRM", "TERM", "TSTP", "STOP"} {
		t.Run(signal, func(t *testing.T) { signalHelper(t, signal) })
	}
}

// TestHelperIsKilled: no process can do anything about SIGKILL, so who has called
// the command is told.
func TestHelperIsKilled(t *testing.T) {
	p := newPlace(t, all, "", sandbox.Options{Mode: sandbox.Off})
	proc, err := p.session.StartUnheld(t.Context(), &sandbox.Command{Args: []string{"bash", "-c", "kill -KILL $PPID"}, Dir: p.root, Env: os.Environ()})
	if err == nil { // else it was killed before it could say that the command runs
		_, err = proc.Wait()
	}
	if err == nil {
		t.Error("nobody is told")
	} else if proc != nil && !strings.Contains(err.Error(), "may still run") {
		t.Error(err)
	}
}

func signalHelper(t *testing.T, signal string) {
	p := newPlace(t, all, "", sandbox.Options{Mode: sandbox.Off})
	in, begin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer begin.Close()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	proc, err := p.session.StartUnheld(t.Context(), &sandbox.Command{
		Args: []string{"bash", "-c", "setsid sleep 1000 & read -r _; kill -" + signal + " $PPID; echo sent; sleep 1000"},
		Dir:  p.root, Env: os.Environ(), Stdin: in, Stdout: out,
	})
	if err := errors.Join(in.Close(), out.Close(), err); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(begin); err != nil { // now that the command is known to run
		t.Fatal(err)
	}
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); line != "sent\n" {
		t.Fatal(line, err)
	}
	proc.Kill()
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 { // it ends with the last that has the pipe
		t.Fatalf("%q, %v", rest, err)
	}
	if state, err := proc.Wait(); err != nil {
		t.Errorf("%v, %v", state, err)
	}
}

func killWorker(t *testing.T, way, then string) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), workerVariable+"="+t.TempDir(), wayVariable+"="+way, thenVariable+"="+then)
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	in := bufio.NewReader(r)
	if line, err := in.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := r.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 { // it ends with the last that has the pipe
		t.Errorf("%q, %v", rest, err)
	}
}
