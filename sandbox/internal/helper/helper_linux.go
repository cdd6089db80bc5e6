// Package helper is the part of a sandbox that runs inside of it: the worker's
// own binary, started again as "worker __sandbox ROLE".
//
// It takes over in its init function, as one of the first packages of the
// program. A main function would run after the initialisation of all packages,
// which costs several times what the helper does; so this package imports next
// to nothing. Packages are initialised in the order of their names, as soon as what they import is: path/filepath comes
// last.
package helper

import (
	"errors"
	"fmt"
	"os"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

func init() {
	if len(os.Args) != 3 || os.Args[1] != wire.Arg {
		return
	}
	os.Exit(run(wire.Role(os.Args[2])))
}

// run is the helper. It returns the exit status.
func run(role wire.Role) int {
	if typ, err := unix.GetsockoptInt(wire.SocketFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || typ == 0 {
		fmt.Fprintln(os.Stderr, "worker __sandbox is started by the worker itself, with a socket: use worker task or worker run")
		return 2
	}
	unix.CloseOnExec(wire.SocketFD)
	var err error
	switch role {
	case wire.RoleHolder:
		err = holder()
	case wire.RoleInit, wire.RoleInner:
		if err = closeMemory(); err == nil {
			err = call(role)
		}
	default:
		err = fmt.Errorf("unknown role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker __sandbox:", err)
		return 1
	}
	return 0
}

// closeMemory sees to it that none of this process's memory is anybody's to
// read, and that nobody may trace it.
func closeMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// retry repeats f while a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
