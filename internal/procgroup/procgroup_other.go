//go:build !unix && !windows

package procgroup

import (
	"os/exec"
	"syscall"
)

// Own does nothing: these systems have no process groups, and the end of the context kills only
// the process.
func Own(*exec.Cmd, syscall.Signal) {}

// Start starts cmd, which is [Own].
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Kill ends only the process itself: see [Own].
func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// Control does nothing, see [Own].
func Control(*exec.Cmd) {}

// Signal sends a signal only to the process itself: see [Own].
func Signal(cmd *exec.Cmd, sig syscall.Signal) error { return cmd.Process.Signal(sig) }
