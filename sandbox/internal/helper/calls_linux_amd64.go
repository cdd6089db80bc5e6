package helper

import "golang.org/x/sys/unix"

const (
	auditArch    = unix.AUDIT_ARCH_X86_64
	foreignCalls = 0x40000000 // x32
)

// naming are the calls that make a name, always, or go to the one of a socket.
var naming = []uint32{
	unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_MKDIRAT, unix.SYS_MKNOD, unix.SYS_MKNODAT, unix.SYS_SYMLINK, unix.SYS_SYMLINKAT,
	unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_BIND, unix.SYS_CONNECT,
}

// outdated are calls that decode turns into newer ones, besides those of naming and opening.
var outdated = []uint32{
	unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

// isUtime reports whether the times of a call are whole seconds, and isUtimes whether they are microseconds.
func isUtime(nr int32) bool  { return nr == unix.SYS_UTIME }
func isUtimes(nr int32) bool { return nr == unix.SYS_UTIMES || nr == unix.SYS_FUTIMESAT }

// modes are the calls that give a file a mode, in this argument. A program with the rights of
// its file's owner or group would outlive the sandbox.
var modes = map[uint32]int{
	unix.SYS_CHMOD: 1, unix.SYS_FCHMOD: 1, unix.SYS_FCHMODAT: 2, unix.SYS_FCHMODAT2: 2, unix.SYS_CREAT: 1, unix.SYS_MKNOD: 1, unix.SYS_MKNODAT: 2,
}

// opening are the calls that open a file.
var opening = []uint32{unix.SYS_OPEN, unix.SYS_OPENAT}

// decode returns what the older calls, which have no folder of their own, mean.
func decode(nr uint32, a [6]uint64) (uint32, [6]uint64) {
	const cwd = ^uint64(99) // AT_FDCWD
	switch nr {
	case unix.SYS_CREAT:
		return unix.SYS_OPENAT, [6]uint64{cwd, a[0], unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC, a[1]}
	case unix.SYS_OPEN:
		return unix.SYS_OPENAT, [6]uint64{cwd, a[0], a[1], a[2]}
	case unix.SYS_MKDIR:
		return unix.SYS_MKDIRAT, [6]uint64{cwd, a[0], a[1]}
	case unix.SYS_MKNOD:
		return unix.SYS_MKNODAT, [6]uint64{cwd, a[0], a[1], a[2]}
	case unix.SYS_SYMLINK:
		return unix.SYS_SYMLINKAT, [6]uint64{a[0], cwd, a[1]}
	case unix.SYS_UNLINK:
		return unix.SYS_UNLINKAT, [6]uint64{cwd, a[0]}
	case unix.SYS_RMDIR:
		return unix.SYS_UNLINKAT, [6]uint64{cwd, a[0], unix.AT_REMOVEDIR}
	case unix.SYS_CHMOD:
		return unix.SYS_FCHMODAT, [6]uint64{cwd, a[0], a[1]}
	case unix.SYS_CHOWN:
		return unix.SYS_FCHOWNAT, [6]uint64{cwd, a[0], a[1], a[2]}
	case unix.SYS_LCHOWN:
		return unix.SYS_FCHOWNAT, [6]uint64{cwd, a[0], a[1], a[2], unix.AT_SYMLINK_NOFOLLOW}
	case unix.SYS_UTIME, unix.SYS_UTIMES:
		return unix.SYS_UTIMENSAT, [6]uint64{cwd, a[0], a[1]}
	case unix.SYS_FUTIMESAT:
		return unix.SYS_UTIMENSAT, [6]uint64{a[0], a[1], a[2]}
	case unix.SYS_LINK:
		return unix.SYS_LINKAT, [6]uint64{cwd, a[0], cwd, a[1]}
	case unix.SYS_RENAME:
		return unix.SYS_RENAMEAT2, [6]uint64{cwd, a[0], cwd, a[1]}
	case unix.SYS_RENAMEAT:
		a[4] = 0
		return unix.SYS_RENAMEAT2, a
	}
	return nr, a
}
