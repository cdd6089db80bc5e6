//go:build !unix

package settings

import "os/exec"

// ownGroup does nothing: these systems have no process groups.
func ownGroup(*exec.Cmd) {}

// endGroup does nothing, see ownGroup.
func endGroup(*exec.Cmd) {}
