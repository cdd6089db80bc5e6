//go:build !unix

package commands

import (
	"errors"
	"os"
)

// openTerminal fails: these systems have no terminals of this kind.
func openTerminal() (ours, its *os.File, err error) {
	return nil, nil, errors.New("there are no terminals for commands on this system: leave tty out")
}
