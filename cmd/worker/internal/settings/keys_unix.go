//go:build unix

package settings

import (
	"os/exec"
	"syscall"
)

// ownGroup makes cmd the leader of a process group of its own, which ends with
// its context, and without a terminal on which it could wait for an answer.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// endGroup ends what is left of the group of cmd, which has been started.
func endGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error: nothing is
}
