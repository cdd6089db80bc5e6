package helper

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_AARCH64
	foreignCalls = 0
)

// naming are the calls that make a name, always, or go to the one of a socket.
var naming = []uint32{
	unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_SYMLINKAT, unix.SYS_LINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_BIND, unix.SYS_CONNECT,
}

// outdated are calls that decode turns into newer ones, besides those of naming and opening.
var outdated []uint32

// isUtime reports whether the times of a call are whole seconds, and isUtimes whether they are microseconds.
func isUtime(int32) bool  { return false }
func isUtimes(int32) bool { return false }

// modes are the calls that give a file a mode, in this argument. A program with the rights of
// its file's owner or group would outlive the sandbox.
var modes = map[uint32]int{unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_MKNODAT: 2}

// opening are the calls that open a file.
var opening = []uint32{unix.SYS_OPENAT}

func decode(nr uint32, a [6]uint64) (uint32, [6]uint64) {
	if nr == unix.SYS_RENAMEAT {
		a[4] = 0
		return unix.SYS_RENAMEAT2, a
	}
	return nr, a
}
