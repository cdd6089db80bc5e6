package rootfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens real, a file or a folder, for reading, beneath the workspace and without following
// a symbolic link, in one step.
func (f *Folder) Open(real string) (*os.File, error) {
	conn, err := f.opened.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	how := &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	var openErr error
	if err := conn.Control(func(dir uintptr) {
		for range 1000 { // a signal, or a folder that is moved meanwhile
			fd, openErr = unix.Openat2(int(dir), real, how)
			if openErr != unix.EINTR && openErr != unix.EAGAIN {
				return
			}
		}
	}); err != nil {
		return nil, err
	}
	switch {
	case openErr == nil:
		return os.NewFile(uintptr(fd), real), nil
	case errors.Is(openErr, unix.ENOSYS), errors.Is(openErr, unix.EPERM), errors.Is(openErr, unix.EINVAL): // before Linux 5.6, or forbidden
		return f.openSlowly(real)
	case errors.Is(openErr, unix.ELOOP):
		return nil, ErrMoved
	}
	return nil, openErr
}
