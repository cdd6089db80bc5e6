package helper

import (
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openat opens a file that may have to be made, and hands it to the caller.
func (c *caller) openat(dirfd int32, addr uint64, flags int, mode uint32) error {
	name, err := c.text(addr)
	if err != nil {
		return err
	}
	if name == "/dev/tty" {
		return c.terminal(flags)
	}
	base, rest, err := c.base(dirfd, name)
	if err != nil {
		return err
	}
	if rest == "" { // one of the caller's own descriptors
		return c.lookAt(base, flags&^(unix.O_CREAT|unix.O_NOFOLLOW))
	}
	for range maxLinks {
		p, err := c.placeAt(base, rest)
		if err != nil {
			return err
		}
		if p.slash || !p.plain() {
			return unix.EISDIR
		}
		var st unix.Stat_t
		err = unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW)
		switch {
		case err == unix.ENOENT:
			err = c.create(p, flags, mode)
			if err == unix.EEXIST && flags&unix.O_EXCL == 0 {
				continue // made by another meanwhile
			}
			return err
		case err != nil:
			return err
		case flags&unix.O_EXCL != 0:
			return unix.EEXIST
		case st.Mode&unix.S_IFMT != unix.S_IFLNK:
			err = c.existing(p, &st, flags)
			if err == unix.ENOENT {
				continue // removed meanwhile
			}
			return err
		case flags&unix.O_NOFOLLOW != 0:
			return unix.ELOOP
		}
		target, err := readlink(p)
		if err != nil {
			return err
		}
		base, rest = p.dir, target
		if path.IsAbs(target) {
			if base, rest, err = c.base(unix.AT_FDCWD, target); err != nil {
				return err
			}
			if rest == "" {
				return c.lookAt(base, flags&^(unix.O_CREAT|unix.O_NOFOLLOW))
			}
		}
	}
	return unix.ELOOP
}

func readlink(p place) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.dir, p.name, buf)
	if err != nil {
		return "", err
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(buf[:n]), nil
}

// create makes the file.
func (c *caller) create(p place, flags int, mode uint32) error {
	return c.judge(p.ask("make"), func() error {
		fd, err := unix.Openat(p.dir, p.name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, mode&0o7777)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return c.give(fd)
	})
}

// existing opens a file that is there.
func (c *caller) existing(p place, st *unix.Stat_t, flags int) error {
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return unix.EISDIR
	}
	fd, err := c.hold(unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0))
	if err != nil {
		return err
	}
	return c.lookAt(fd, flags&^(unix.O_CREAT|unix.O_NOFOLLOW))
}

// reopen opens again what an O_PATH descriptor holds. That of a pipe may wait
// for its other end: it does so beside the others.
func (c *caller) reopen(fd, flags int) error {
	if err := c.valid(); err != nil {
		return err
	}
	flags = flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW) | unix.O_CLOEXEC | unix.O_NOCTTY
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFIFO && flags&unix.O_NONBLOCK == 0 {
		mine, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		c.answered = true
		later := *c // c is done with when this call returns
		go later.openPipe(mine, flags)
		return nil
	}
	got, err := unix.Open(self(fd), flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(got)
	return c.give(got)
}

// openPipe ends with the command at the latest.
func (c *caller) openPipe(fd, flags int) {
	defer unix.Close(fd)
	runtime.LockOSThread() // and never unlocked
	err := blockSignals()
	if err == nil && c.id != c.s.own {
		err = become(c.id)
	}
	got := -1
	if err == nil {
		got, err = unix.Open(self(fd), flags, 0)
	}
	if err == nil {
		defer unix.Close(got)
		if c.give(got) == nil {
			return
		}
		err = unix.EIO
	}
	c.answer(err)
}

// cloexec is the O_CLOEXEC of the caller's own flags.
func (c *caller) cloexec() int { return int(c.args[2]) & unix.O_CLOEXEC }

// give hands fd to the caller as what its call returns.
func (c *caller) give(fd int) error {
	add := addFD{ID: c.n.ID, Flags: addFDSend, SrcFD: uint32(fd), NewFlags: uint32(c.cloexec())}
	if err := c.s.ioctl(unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&add)); err != nil {
		return err
	}
	c.answered = true
	return nil
}

// terminal opens the caller's terminal, which is not this process's.
func (c *caller) terminal(flags int) error {
	text, err := os.ReadFile("/proc/" + c.tgid + "/stat")
	if err != nil {
		return unix.EACCES
	}
	stat := string(text)
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:]) // the name before it may hold anything
	if len(fields) < 5 {
		return unix.ENXIO
	}
	dev, _ := strconv.ParseUint(fields[4], 10, 32)
	if major := unix.Major(dev); major < 136 || major > 143 {
		return unix.ENXIO // none, or none of this sandbox
	}
	fd, err := c.hold(openTerminal(c.tgid, dev))
	if err != nil {
		return unix.ENXIO
	}
	return c.reopen(fd, flags)
}

// openTerminal opens a terminal: one of the command's own descriptors if it is that, else one that the
// sandbox has made. The terminal of a command in the background is from outside.
func openTerminal(tgid string, dev uint64) (fd int, err error) {
	for _, own := range []string{"0", "1", "2"} {
		fd, err = unix.Open("/proc/"+tgid+"/fd/"+own, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && uint32(st.Rdev) == uint32(dev) {
			return fd, nil
		}
		unix.Close(fd)
	}
	return unix.Open("/dev/pts/"+strconv.Itoa(int(unix.Minor(dev))), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}
