package helper

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16 // little endian: the low half comes first
)

// What a program of the filter returns.
const (
	retAllow  = 0x7fff0000
	retErrno  = 0x00050000
	retKill   = 0x80000000
	retNotify = unix.SECCOMP_RET_USER_NOTIF
)

// newNamespaces are the flags of clone and unshare that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// refused are the calls that no command needs, and that reach around the walls
// or into the kernel: mounts and namespaces; io_uring, whose operations no
// filter sees; keys, which are not held by a namespace; and what only an
// administrator does. The value is what they fail with.
var refused = map[uint32]unix.Errno{
	unix.SYS_MOUNT: unix.EPERM, unix.SYS_UMOUNT2: unix.EPERM, unix.SYS_PIVOT_ROOT: unix.EPERM, unix.SYS_CHROOT: unix.EPERM,
	unix.SYS_OPEN_TREE: unix.EPERM, unix.SYS_MOVE_MOUNT: unix.EPERM, unix.SYS_FSOPEN: unix.EPERM, unix.SYS_FSCONFIG: unix.EPERM,
	unix.SYS_FSMOUNT: unix.EPERM, unix.SYS_FSPICK: unix.EPERM, unix.SYS_MOUNT_SETATTR: unix.EPERM, unix.SYS_SETNS: unix.EPERM,
	sysOpenTreeAttr: unix.EPERM,

	unix.SYS_IO_URING_SETUP: unix.ENOSYS, unix.SYS_IO_URING_ENTER: unix.ENOSYS, unix.SYS_IO_URING_REGISTER: unix.ENOSYS,
	unix.SYS_OPEN_BY_HANDLE_AT: unix.EPERM, unix.SYS_NAME_TO_HANDLE_AT: unix.EPERM,
	unix.SYS_ADD_KEY: unix.EPERM, unix.SYS_REQUEST_KEY: unix.EPERM, unix.SYS_KEYCTL: unix.EPERM,

	unix.SYS_BPF: unix.EPERM, unix.SYS_PERF_EVENT_OPEN: unix.EPERM, unix.SYS_USERFAULTFD: unix.EPERM,
	unix.SYS_INIT_MODULE: unix.EPERM, unix.SYS_FINIT_MODULE: unix.EPERM, unix.SYS_DELETE_MODULE: unix.EPERM,
	unix.SYS_KEXEC_LOAD: unix.EPERM, unix.SYS_REBOOT: unix.EPERM, unix.SYS_SWAPON: unix.EPERM, unix.SYS_SWAPOFF: unix.EPERM,
	unix.SYS_ACCT: unix.EPERM, unix.SYS_QUOTACTL: unix.EPERM, unix.SYS_SYSLOG: unix.EPERM, unix.SYS_SETTIMEOFDAY: unix.EPERM,
	unix.SYS_CLOCK_SETTIME: unix.EPERM, unix.SYS_SETHOSTNAME: unix.EPERM, unix.SYS_SETDOMAINNAME: unix.EPERM,
	unix.SYS_FANOTIFY_INIT: unix.EPERM, unix.SYS_LOOKUP_DCOOKIE: unix.EPERM, unix.SYS_QUOTACTL_FD: unix.EPERM,

	// Their arguments lie in memory, where the filter does not see them. The C
	// library and others use the older ones in their place.
	unix.SYS_CLONE3: unix.ENOSYS,
}

// sysOpenTreeAttr is newer than the constants.
const sysOpenTreeAttr = 467

// inMemory are calls whose arguments lie in memory. Programs use the older ones in their place.
var inMemory = []uint32{unix.SYS_OPENAT2, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR}

// flagging are requests that change attributes of a file that is only open for reading, or make and
// remove names as no call does (linux/fs.h, linux/fsverity.h, linux/btrfs.h).
var flagging = []uint32{
	unix.FS_IOC_SETFLAGS, 0x40046602 /* FS_IOC32_SETFLAGS */, 0x40087602 /* FS_IOC_SETVERSION */, 0x401c5820, /* FS_IOC_FSSETXATTR */
	unix.FS_IOC_ENABLE_VERITY,
	0x50009401 /* BTRFS_IOC_SNAP_CREATE */, 0x50009417 /* …_V2 */, 0x5000940e /* SUBVOL_CREATE */, 0x50009418, /* …_V2 */
	0x5000940f /* SNAP_DESTROY */, 0x5000943f /* …_V2 */, 0x4008941a, /* SUBVOL_SETFLAGS */
}

// program is a filter in the making.
type program []unix.SockFilter

func (p *program) op(code uint16, k uint32, jt, jf uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (p *program) load(offset uint32) { p.op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) ret(value uint32)   { p.op(unix.BPF_RET|unix.BPF_K, value, 0, 0) }

// on returns value for the call nr.
func (p *program) on(nr uint32, value uint32) {
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, 1)
	p.ret(value)
}

// onBits returns value for the call nr if its argument arg has one of bits,
// and allows it otherwise.
func (p *program) onBits(nr uint32, arg int, bits, value uint32) {
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, 4)
	p.load(offArgs + 8*uint32(arg))
	p.op(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bits, 0, 1)
	p.ret(value)
	p.ret(retAllow)
}

// setID are the bits of a mode with which a program runs with the rights of its file's owner
// or group. No command sets them.
const setID = unix.S_ISUID | unix.S_ISGID

// refuseBits returns value for the call nr if its argument arg has one of bits.
func (p *program) refuseBits(nr uint32, arg int, bits, value uint32) {
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, 4)
	p.load(offArgs + 8*uint32(arg))
	p.op(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bits, 0, 1)
	p.ret(value)
	p.load(offNumber)
}

// onDatagrams returns value for the call nr if it makes unix sockets of datagrams. Each message to such
// a socket may have an address of its own, in memory where nobody can judge it in time.
func (p *program) onDatagrams(nr, value uint32) {
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, 8)
	p.load(offArgs)
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_UNIX, 0, 5)
	p.load(offArgs + 8)
	p.op(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf, 0, 0) // without SOCK_CLOEXEC and SOCK_NONBLOCK
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SOCK_STREAM, 2, 0)
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.SOCK_SEQPACKET, 1, 0)
	p.ret(value)
	p.load(offNumber)
}

// addressed returns value for the call nr if its argument arg is no null pointer.
func (p *program) addressed(nr uint32, arg int, value uint32) {
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, 6)
	p.load(offArgs + 8*uint32(arg))
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 0, 2)
	p.load(offArgs + 8*uint32(arg) + 4)
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, 0)
	p.ret(value)
	p.ret(retAllow)
}

// onEqual returns value for the call nr if its argument arg is one of values;
// with not, if it is none of them. It allows the call otherwise.
func (p *program) onEqual(nr uint32, arg int, values []uint32, not bool, value uint32) {
	n := uint8(len(values))
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, n+3)
	p.load(offArgs + 8*uint32(arg))
	hit, miss := value, uint32(retAllow)
	if not {
		hit, miss = miss, hit
	}
	for i, v := range values {
		p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, n-uint8(i), 0)
	}
	p.ret(miss)
	p.ret(hit)
}

func errno(e unix.Errno) uint32 { return retErrno | uint32(e) }

// filter returns the program that every command runs under. supervise: calls
// that make names are told to the supervisor. local: no sockets to a network. datagrams: so are
// calls that send to an address.
func filter(supervise, local, datagrams bool) []unix.SockFilter {
	var p program
	p.load(offArch)
	p.op(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	p.ret(retKill)
	p.load(offNumber)
	if foreignCalls != 0 { // a second set of numbers for the same calls
		p.op(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, foreignCalls, 0, 1)
		p.ret(errno(unix.ENOSYS))
	}
	for nr, e := range refused {
		p.on(nr, errno(e))
	}
	for nr, arg := range modes {
		p.refuseBits(nr, arg, setID, errno(unix.EPERM))
	}
	p.onBits(unix.SYS_CLONE, 0, newNamespaces, errno(unix.EPERM))
	p.onBits(unix.SYS_UNSHARE, 0, newNamespaces, errno(unix.EPERM))
	// Input for the terminal of somebody else.
	p.onEqual(unix.SYS_IOCTL, 1, append([]uint32{unix.TIOCSTI, unix.TIOCLINUX}, flagging...), false, errno(unix.EPERM))
	if !datagrams {
		p.onDatagrams(unix.SYS_SOCKET, errno(unix.EACCES))
	}
	if supervise { // gives sockets of packets in their place
		p.onDatagrams(unix.SYS_SOCKETPAIR, retNotify)
	} else {
		p.onDatagrams(unix.SYS_SOCKETPAIR, errno(unix.EACCES))
	}
	families := []uint32{unix.AF_NETLINK}
	if supervise { // else nobody judges where they lead
		families = append(families, unix.AF_UNIX)
	}
	if !local {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	p.onEqual(unix.SYS_SOCKET, 0, families, true, errno(unix.EAFNOSUPPORT))
	if supervise {
		for _, nr := range naming {
			p.on(nr, retNotify)
		}
		for _, nr := range opening {
			p.on(nr, retNotify)
		}
		p.on(unix.SYS_EXECVE, retNotify)
		p.on(unix.SYS_EXECVEAT, retNotify)
		if datagrams {
			p.addressed(unix.SYS_SENDTO, 4, retNotify)
			for _, nr := range sending {
				p.on(nr, retNotify)
			}
		}
		p.on(unix.SYS_UNLINKAT, retNotify)
		for _, nr := range outdated {
			p.on(nr, retNotify)
		}
		for nr := range changing {
			p.on(nr, retNotify)
		}
		for _, nr := range inMemory {
			p.on(nr, errno(unix.ENOSYS))
		}
	}
	p.ret(retAllow)
	return p
}

// install puts the filter on the calling thread, and all that it starts. With
// supervise it returns the descriptor on which the calls arrive.
func install(supervise, local, datagrams bool) (listener int, err error) {
	code := filter(supervise, local, datagrams)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	flags := uintptr(0)
	if supervise {
		// A signal that comes while the supervisor works would repeat the call:
		// only one that kills may.
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if e != 0 {
		return -1, fmt.Errorf("setting the filter: %w", e)
	}
	return int(fd), nil
}
