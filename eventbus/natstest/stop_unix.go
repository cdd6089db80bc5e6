//go:build unix

package natstest

import (
	"os"
	"syscall"
	"testing"
)

// StopProcess stops a child process of the test by SIGSTOP or SIGTSTP. It returns when all
// threads have stopped, which takes a while on a busy machine.
func StopProcess(t testing.TB, p *os.Process, s syscall.Signal) {
	t.Helper()
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("process %d does not stop: %v %#x", p.Pid, err, status)
		}
		return
	}
}
