package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

// workerVariable makes the test binary a worker that runs a command and waits, in
// the way that wayVariable says.
const (
	workerVariable = "SANDBOX_TEST_WORKER"
	wayVariable    = "SANDBOX_TEST_WAY"
)

// ways are the ways in which a command is run; nil means in no sandbox.
var ways = map[string]func(*sandbox.Support){
	"namespaces":     func(*sandbox.Support) {},
	"bubblewrap":     func(s *sandbox.Support) { s.Namespaces = false },
	"Landlock alone": func(s *sandbox.Support) { s.Namespaces, s.Bubblewrap = false, "" },
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
	cmd := &sandbox.Command{
		Profile: sandbox.NewProfile(sandbox.Input{
			Layers:    &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})},
			Workspace: permission.Workspace{Root: dir},
		}),
		Args: []string{"bash", "-c", "set -m; sleep 1000 & setsid sleep 1000 & (setsid sh -c '(trap \"\" TERM HUP; sleep 1000; sleep 1000) & exit' &); echo ready; sleep 1000"},
		Dir:  dir, Env: os.Environ(), Stdout: os.Stdout,
	}
	start := session.Start
	if way == nil {
		start = session.StartUnheld
	}
	p, err := start(context.Background(), cmd)
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// TestWorkerIsKilled ends all commands with a worker that has no chance to.
func TestWorkerIsKilled(t *testing.T) {
	for way := range ways {
		t.Run(way, func(t *testing.T) {
			if way == "bubblewrap" && sandbox.Detect().Bubblewrap == "" {
				t.Log("bubblewrap is not installed")
				return
			}
			killWorker(t, way)
		})
	}
}

func killWorker(t *testing.T, way string) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), workerVariable+"="+t.TempDir(), wayVariable+"="+way)
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
