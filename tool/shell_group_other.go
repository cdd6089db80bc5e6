//go:build !unix

package tool

import "os/exec"

// ownGroup does nothing: these systems have no process groups, and the end of its
// context kills only the process.
func ownGroup(*exec.Cmd) {}

// killGroup does nothing, see ownGroup.
func killGroup(*exec.Cmd) {}

// watched lets cmd run the command unwatched: on these systems it outlives a killed
// worker.
func watched(cmd *exec.Cmd, shell, command string) (release func(), err error) {
	cmd.Args = []string{shell, "-c", "--", command}
	return func() {}, nil
}
