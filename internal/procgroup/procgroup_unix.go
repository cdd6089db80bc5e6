//go:build unix

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Own makes cmd the leader of a process group of its own. When its context ends, the group gets
// the signal. The group is a session too, so no program in it can wait for an answer at
// the terminal. Call it before [Start].
func Own(cmd *exec.Cmd, sig syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return signal(cmd, sig) }
}

// Start starts cmd, which is [Own].
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Control makes stdin, which is a terminal, the one that controls the group. Call it after [Own].
func Control(cmd *exec.Cmd) { cmd.SysProcAttr.Setctty = true }

// Signal sends a signal to the group of cmd, which has been started.
func Signal(cmd *exec.Cmd, sig syscall.Signal) error { return signal(cmd, sig) }

// Kill ends what is left of the group of cmd, which has been started.
func Kill(cmd *exec.Cmd) { _ = signal(cmd, syscall.SIGKILL) }

func signal(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
