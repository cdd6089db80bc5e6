//go:build unix && !linux

package tool

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// watchScript runs the command $2 in the shell $1, next to a watcher in the same
// process group. The watcher reads from descriptor 3, and ends the group when no writer
// is left: then this process has ended, for whatever reason. The watch is there before
// the command is, so that there is no moment in which a killed worker leaves it behind.
// The command itself gets no part of it.
const watchScript = `{ trap "" HUP INT TERM; read -r _ <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 &
exec 3<&-
exec "$1" -c -- "$2"`

// watched makes cmd, which leads a group of its own, run a command
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
