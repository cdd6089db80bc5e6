package helper

import (
	"encoding/binary"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sending are the calls whose message may have an address of its own, in memory. The supervisor makes them in sessions
// whose rules let commands reach a socket of another program. The others have no sockets of datagrams.
var sending = []uint32{unix.SYS_SENDMSG, unix.SYS_SENDMMSG}

// The bounds of one message. A stream takes the rest with the next call.
const (
	maxMessage = 1 << 20
	maxControl = 64 << 10
	maxVectors = 1024
)

// message is what one call sends.
type message struct {
	sock          int
	kind, family  int
	name          []byte // the address; none: nil
	data, control []byte
	flags         int
}

// sendmsg sends the message at an address of the caller's memory. length is where its length is written; 0: it
// is what the call returns.
func sendmsg(c *caller, fd int, addr uint64, flags int, length uint64) error {
	head, err := c.exactly(addr, 56) // struct msghdr
	if err != nil {
		return err
	}
	word := func(at int) uint64 { return binary.NativeEndian.Uint64(head[at:]) }
	name, vectors, n := word(0), word(16), word(24)
	if n > maxVectors {
		return unix.EMSGSIZE
	}
	m, err := open(c, fd, name, int(int32(binary.NativeEndian.Uint32(head[8:]))), flags)
	if err != nil {
		return err
	}
	list, err := c.exactly(vectors, int(n)*16)
	if err != nil {
		return err
	}
	for ; len(list) > 0 && len(m.data) < maxMessage; list = list[16:] {
		size := binary.NativeEndian.Uint64(list[8:])
		if err := m.add(c, binary.NativeEndian.Uint64(list), size); err != nil {
			return err
		}
	}
	if word(40) > maxControl {
		return unix.ENOBUFS
	}
	control, err := c.exactly(word(32), int(word(40)))
	if err != nil {
		return err
	}
	if m.control, err = translate(c, m.family, control); err != nil {
		return err
	}
	m.send(c, length)
	return nil
}

// sendto sends to an address.
func sendto(c *caller) error {
	a := c.args
	m, err := open(c, int(int32(a[0])), a[4], int(int32(a[5])), int(int32(a[3])))
	if err != nil {
		return err
	}
	if err := m.add(c, a[1], a[2]); err != nil {
		return err
	}
	m.send(c, 0)
	return nil
}

// open judges where a message goes.
func open(c *caller, fd int, name uint64, size, flags int) (m *message, err error) {
	m = &message{flags: flags}
	if name == 0 || size == 0 {
		m.sock, err = takeSocket(c, fd)
	} else {
		m.sock, m.name, err = c.socket(fd, name, size)
	}
	if err != nil {
		return nil, err
	}
	if m.family, err = unix.GetsockoptInt(m.sock, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil {
		return nil, err
	}
	if m.kind, err = unix.GetsockoptInt(m.sock, unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return nil, err
	}
	switch {
	case m.family != unix.AF_UNIX || m.name == nil:
	case m.kind == unix.SOCK_SEQPACKET: // it goes to the other end
		m.name = nil
	default:
		if path := socketPath(m.name); path != "" {
			m.name, err = c.reachable(path)
		}
	}
	return m, err
}

// takeSocket returns the caller's socket.
func takeSocket(c *caller, fd int) (int, error) {
	process, _ := strconv.Atoi(c.tgid)
	pidfd, err := c.hold(unix.PidfdOpen(process, 0))
	if err != nil {
		return -1, unix.EACCES
	}
	return c.hold(unix.PidfdGetfd(pidfd, fd, 0))
}

// add adds a part to the data, or as much of it as one call sends.
func (m *message) add(c *caller, addr, size uint64) error {
	room := uint64(maxMessage - len(m.data))
	if size > room {
		if m.kind != unix.SOCK_STREAM {
			return unix.EMSGSIZE
		}
		size = room
	}
	part, err := c.exactly(addr, int(size))
	m.data = append(m.data, part...)
	return err
}

// translate makes the descriptors in a control message those of this process. Whom the kernel says the sender is, it says
// of its own.
func translate(c *caller, family int, control []byte) ([]byte, error) {
	if family != unix.AF_UNIX || len(control) == 0 {
		return control, nil
	}
	parts, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i := range parts {
		switch parts[i].Header.Type {
		case unix.SCM_CREDENTIALS:
		case unix.SCM_RIGHTS:
			fds, err := unix.ParseUnixRights(&parts[i])
			if err != nil {
				return nil, err
			}
			for k, fd := range fds {
				if fds[k], err = takeSocket(c, fd); err != nil {
					return nil, err
				}
			}
			out = append(out, unix.UnixRights(fds...)...)
		default:
			return nil, unix.EINVAL
		}
	}
	return out, nil
}

// send sends, beside other calls, since it may wait. It ends with the command at the latest.
func (m *message) send(c *caller, length uint64) {
	c.answered = true
	later := *c
	c.open = nil
	go func() {
		defer later.close()
		runtime.LockOSThread() // and never unlocked: the thread has another identity
		err := blockSignals()
		if err == nil && later.id != later.s.own {
			err = become(later.id)
		}
		n := 0
		if err == nil {
			n, err = m.sendNow()
		}
		if err == nil && length != 0 {
			err = later.write(length, binary.NativeEndian.AppendUint32(nil, uint32(n)))
			n = 1 // of the messages
		}
		if err == unix.EPIPE && m.kind == unix.SOCK_STREAM && m.flags&unix.MSG_NOSIGNAL == 0 {
			tellBroken(&later)
		}
		if err != nil {
			later.answer(err)
			return
		}
		r := response{ID: later.n.ID, Val: int64(n)}
		_ = later.s.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	}()
}

// tellBroken sends the calling thread the signal that it gets from its own call. The call goes on: only what kills the
// caller ends its wait.
func tellBroken(c *caller) {
	if process, _ := strconv.Atoi(c.tgid); c.valid() == nil {
		_ = unix.Tgkill(process, int(c.n.PID), unix.SIGPIPE)
	}
}

func (m *message) sendNow() (int, error) {
	first := func(b []byte) *byte {
		if len(b) == 0 {
			return nil
		}
		return &b[0]
	}
	vector := unix.Iovec{Base: first(m.data)}
	vector.SetLen(len(m.data))
	head := unix.Msghdr{Name: first(m.name), Namelen: uint32(len(m.name)), Iov: &vector, Control: first(m.control)}
	head.SetIovlen(1)
	head.SetControllen(len(m.control))
	n, _, e := unix.Syscall(unix.SYS_SENDMSG, uintptr(m.sock), uintptr(unsafe.Pointer(&head)), uintptr(m.flags|unix.MSG_NOSIGNAL))
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}
