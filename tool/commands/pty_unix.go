//go:build unix

package commands

import (
	"os"
	"syscall"

	"github.com/creack/pty"
)

// The size of terminals: wide, so that programs break few lines.
var terminalSize = pty.Winsize{Rows: 40, Cols: 160}

// openTerminal opens a terminal: ours is the end of whoever sits there, its that of the command.
func openTerminal() (ours, its *os.File, err error) {
	master, its, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer master.Close()
	if err := pty.Setsize(master, &terminalSize); err != nil {
		its.Close()
		return nil, nil, err
	}
	// Package pty leaves its end blocking: a read of it would have no deadline.
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(int(master.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		its.Close()
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), "terminal"), its, nil
}
