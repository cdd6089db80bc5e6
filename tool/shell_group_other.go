//go:build !unix

package tool

import "os/exec"

// ownGroup leaves cmd as it is: these systems have no process groups, and the
// end of its context kills the process alone.
func ownGroup(*exec.Cmd) {}

// killGroup does nothing, see ownGroup.
func killGroup(*exec.Cmd) {}

// watched lets cmd run the command as it is: on these systems it stays where the
// worker is killed.
func watched(cmd *exec.Cmd, shell, command string) (release func(), err error) {
	cmd.Args = []string{shell, "-c", "--", command}
	return func() {}, nil
}
