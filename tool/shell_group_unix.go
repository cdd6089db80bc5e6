//go:build unix && !linux

package tool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// watchScript runs the command $2 in the shell $1, next to a watcher in the same
// process group. The watcher reads from descriptor 3, and ends the group when no writer
// is left: then this process has ended, for whatever reason. The watch is there before
// the command is, so that there is no moment in which a killed worker leaves it behind.
// The command itself gets no part of it.
const watchScript = `{ trap "" HUP INT TERM; read -r _ <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
exec 3<&-
exec "$1" -c -- "$2"`

// watched makes cmd, which ownGroup has made the leader of a group, run a command
// that ends with this process. Call release when the group is to end with cmd.
func watched(cmd *exec.Cmd, shell, command string) (release func(), err error) {
	r, w, err := os.Pipe() // both ends are closed in other commands
	if err != nil {
		return nil, fmt.Errorf("watching a command: %w", err)
	}
	cmd.Args = []string{shell, "-c", watchScript, shell, shell, command}
	cmd.ExtraFiles = []*os.File{r} // descriptor 3
	return func() { _ = errors.Join(r.Close(), w.Close()) }, nil
}

// ownGroup makes cmd the leader of a process group of its own, which the end
// of its context asks to stop. It is a session as well: without a terminal no
// program can stop and wait for a password there.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGTERM) }
}

// killGroup ends at once what is left of the group of cmd.
func killGroup(cmd *exec.Cmd) { _ = signalGroup(cmd, syscall.SIGKILL) }

func signalGroup(cmd *exec.Cmd, sig syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
