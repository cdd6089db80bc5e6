//go:build unix

package tool

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// openNonblock keeps an open from waiting for the other end of a pipe.
const openNonblock = syscall.O_NONBLOCK

// ownGroup makes cmd the leader of a process group of its own, which the end
// of its context asks to stop. It is a session as well: without a terminal no
// program can stop and wait for a password there.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGTERM) }
}

// killGroup ends at once what is left of the group of cmd.
func killGroup(cmd *exec.Cmd) { _ = signalGroup(cmd, syscall.SIGKILL) }

func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
