package helper

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"unsafe"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// socket returns the caller's socket, and the address that its call has.
func (c *caller) socket(fd int, addr uint64, size int) (sock int, raw []byte, err error) {
	if size < 2 || size > 128 {
		return -1, nil, unix.EINVAL
	}
	if raw, err = c.exactly(addr, size); err != nil {
		return -1, nil, err
	}
	if sock, err = takeSocket(c, fd); err != nil {
		return -1, nil, err
	}
	return sock, raw, c.valid()
}

// socketPath returns the path in an address; "" means that it has none.
func socketPath(raw []byte) string {
	if binary.NativeEndian.Uint16(raw) != unix.AF_UNIX || len(raw) == 2 {
		return ""
	}
	name, _, _ := strings.Cut(string(raw[2:]), "\x00")
	return name
}

// bind binds the caller's socket. One that has a path is a name like others.
func (c *caller) bind(fd int, addr uint64, size int) error {
	sock, raw, err := c.socket(fd, addr, size)
	if err != nil {
		return err
	}
	name := socketPath(raw)
	if name == "" {
		return withAddress(unix.SYS_BIND, sock, raw)
	}
	p, err := c.place(unix.AT_FDCWD, name)
	if err != nil {
		return err
	}
	if !p.plain() || exists(p) {
		return unix.EADDRINUSE
	}
	ask := wire.Ask{Op: "bound"}
	err = c.judge(p.ask("make"), func() error {
		if err := unix.Fchdir(p.dir); err != nil {
			return err
		}
		defer func() { _ = unix.Fchdir(c.s.root) }()
		err := unix.Bind(sock, &unix.SockaddrUnix{Name: p.name})
		if err == nil {
			ask.Socket, err = identify(p.dir, p.name)
		}
		return err
	})
	if err != nil {
		return err
	}
	done, err := c.s.ask(ask)
	done()
	return err
}

// socketpair makes a pair for datagrams. Its sockets are of packets, which part messages in the same way and
// ignore the address of a message: they reach each other alone.
func (c *caller) socketpair(kind, protocol int, addr uint64) error {
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	if kind = kind &^ 0xf & flags; protocol != 0 && protocol != unix.AF_UNIX {
		return unix.EPROTONOSUPPORT
	}
	pair := binary.NativeEndian.AppendUint64(nil, ^uint64(0))
	if err := c.write(addr, pair); err != nil { // before anything is given that nobody would close
		return err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|kind&unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	pair = pair[:0]
	for _, fd := range fds {
		c.open = append(c.open, fd)
	}
	for _, fd := range fds {
		add := addFD{ID: c.n.ID, SrcFD: uint32(fd), NewFlags: uint32(kind & unix.SOCK_CLOEXEC)}
		given, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(c.s.listener), uintptr(unix.SECCOMP_IOCTL_NOTIF_ADDFD), uintptr(unsafe.Pointer(&add)))
		if e != 0 {
			return e
		}
		pair = binary.NativeEndian.AppendUint32(pair, uint32(given))
	}
	return c.write(addr, pair)
}

// write writes to the caller's memory.
func (c *caller) write(addr uint64, data []byte) error {
	if err := c.valid(); err != nil {
		return err
	}
	n, err := unix.ProcessVMWritev(int(c.n.PID), []unix.Iovec{{Base: &data[0], Len: uint64(len(data))}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(data)}}, 0)
	if err != nil || n != len(data) {
		return unix.EFAULT
	}
	return nil
}

// identify returns which file a name in a folder is. Without a name it is what dir is open on.
func identify(dir int, name string) (s wire.Socket, err error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return s, err
	}
	s = wire.Socket{Device: unix.Mkdev(st.Dev_major, st.Dev_minor), Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return s, nil
}

// connect connects the caller's socket. One with a path is judged by what is there: the
// sockets of other programs are outside of the sandbox, whatever folder shows them.
func (c *caller) connect(fd int, addr uint64, size int) error {
	sock, raw, err := c.socket(fd, addr, size)
	if err != nil {
		return err
	}
	if name := socketPath(raw); name != "" {
		domain, err := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_DOMAIN)
		if err != nil {
			return err
		}
		if domain == unix.AF_UNIX {
			if raw, err = c.reachable(name); err != nil {
				return err
			}
		}
	}
	mode, err := unix.FcntlInt(uintptr(sock), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if mode&unix.O_NONBLOCK != 0 && c.id == c.s.own {
		return withAddress(unix.SYS_CONNECT, sock, raw)
	}
	c.answered = true // it may wait for the other end, beside other calls
	later := *c
	c.open = nil
	go later.connectPatiently(sock, raw)
	return nil
}

// reachable returns the address of the socket that a path leads to, if the caller may reach it.
// It stays that socket, whatever is renamed meanwhile.
func (c *caller) reachable(name string) ([]byte, error) {
	at, err := c.source(unix.AT_FDCWD, name, true)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, unix.ECONNREFUSED
	}
	real, err := (place{dir: at}).real()
	if err != nil {
		return nil, err
	}
	err = askAt(c, "connect", at, real)
	raw := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	return append(append(raw, self(at)...), 0), err
}

// askAt asks about what fd holds, by which file it is and by its path.
func askAt(c *caller, op string, fd int, real string) error {
	id, err := identify(fd, "")
	if err != nil {
		return err
	}
	done, err := c.s.ask(wire.Ask{Op: op, New: real, Socket: id})
	done()
	return err
}

// connectPatiently connects and answers. It ends with the command at the latest.
func (c *caller) connectPatiently(sock int, raw []byte) {
	defer c.close()
	runtime.LockOSThread() // and never unlocked: the thread has another identity
	err := blockSignals()
	if err == nil && c.id != c.s.own {
		err = become(c.id)
	}
	if err == nil {
		err = withAddress(unix.SYS_CONNECT, sock, raw)
	}
	c.answer(err)
}

// become gives this thread the identity of a caller. The other end of a connection is told it.
func become(id identity) error {
	const same = ^uintptr(0)
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, same, uintptr(id.gid), same); e != 0 {
		return e
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(id.uid), same); e != 0 {
		return e
	}
	return nil
}

// answer says what the call has come to.
func (c *caller) answer(err error) {
	r := response{ID: c.n.ID}
	if err != nil {
		e := unix.EACCES
		errors.As(err, &e)
		r.Error = -int32(e)
	}
	_ = c.s.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) // ENOENT: the caller has died
}

// withAddress makes the call, bind or connect, with an address in our memory.
func withAddress(call uintptr, sock int, raw []byte) error {
	_, _, e := unix.Syscall(call, uintptr(sock), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	if e != 0 {
		return e
	}
	return nil
}
