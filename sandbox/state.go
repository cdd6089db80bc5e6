package sandbox

import (
	"fmt"
	"syscall"
)

// State is how a command has ended.
type State struct{ status syscall.WaitStatus }

// ExitCode returns the exit status; -1: a signal ended the command.
func (s State) ExitCode() int {
	if s.status.Exited() {
		return s.status.ExitStatus()
	}
	return -1
}

// Success reports exit status 0.
func (s State) Success() bool { return s.ExitCode() == 0 }

// String says how the command has ended, as [os.ProcessState] does.
func (s State) String() string {
	if s.status.Signaled() {
		return "signal: " + s.status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitCode())
}
