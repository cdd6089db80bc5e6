//go:build unix

package stdio

import (
	"os"
	"syscall"
)

// Duplicate returns a file of its own for what f has open.
func Duplicate(f *os.File) (*os.File, error) {
	syscall.ForkLock.RLock() // no process that is started meanwhile gets it
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}
