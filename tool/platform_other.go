//go:build !unix

package tool

import "os/exec"

// openNonblock: these systems have no pipes among the files of a folder.
const openNonblock = 0

// ownGroup leaves cmd as it is: these systems have no process groups, and the
// end of its context kills the process alone.
func ownGroup(*exec.Cmd) {}

// killGroup does nothing, see ownGroup.
func killGroup(*exec.Cmd) {}
