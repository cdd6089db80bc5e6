//go:build linux && !race

package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

// workerVariable makes the test binary a worker that runs a command and waits.
const workerVariable = "SANDBOX_TEST_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerVariable); dir != "" {
		if err := workForEver(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func workForEver(dir string) error {
	session, err := sandbox.Open(sandbox.Options{Mode: sandbox.Required, Dir: dir})
	if err != nil {
		return err
	}
	p, err := session.Start(context.Background(), &sandbox.Command{
		Profile: sandbox.NewProfile(sandbox.Input{
			Layers:    &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})},
			Workspace: permission.Workspace{Root: dir},
		}),
		Args: []string{"bash", "-c", "setsid sleep 1000 & (setsid sleep 1000 &); echo ready; sleep 1000"},
		Env:  os.Environ(), Stdout: os.Stdout,
	})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// TestWorkerIsKilled ends all commands with a worker that has no chance to.
func TestWorkerIsKilled(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), workerVariable+"="+t.TempDir())
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
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 { // it ends with the last that has the pipe
		t.Errorf("%q, %v", rest, err)
	}
}
