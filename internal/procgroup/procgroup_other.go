//go:build !unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Own does nothing: these systems have no process groups, and the end of the context kills only
// the process.
func Own(*exec.Cmd, syscall.Signal) {}

// Kill does nothing, see [Own].
func Kill(*exec.Cmd) {}
