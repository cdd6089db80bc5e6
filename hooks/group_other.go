//go:build !unix

package hooks

import "os/exec"

// ownGroup does nothing: these systems have no process groups, and the end of its context
// kills only the process.
func ownGroup(*exec.Cmd) {}

// killGroup does nothing, see ownGroup.
func killGroup(*exec.Cmd) {}
