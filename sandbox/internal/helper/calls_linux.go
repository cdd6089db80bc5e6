package helper

import (
	"path"
	"strconv"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// do does the call in the place of the caller, with its umask and identity.
func (s *supervisor) do(c *caller) error {
	unix.Umask(c.umask)
	if c.id != s.own {
		// Only root gets here: the ids of others mean nothing elsewhere.
		_ = unix.Setfsgid(c.id.gid)
		_ = unix.Setfsuid(c.id.uid) // takes away the rights over other users' files, too
		defer func() { _ = unix.Setfsuid(s.own.uid); _ = unix.Setfsgid(s.own.gid) }()
	}
	a := c.args
	switch c.nr {
	case unix.SYS_OPENAT:
		if flags := int(int32(a[2])); flags&unix.O_CREAT == 0 {
			return c.look(int32(a[0]), a[1], flags)
		}
		return c.openat(int32(a[0]), a[1], int(int32(a[2])), uint32(a[3])&^setID)
	case unix.SYS_EXECVE:
		return runProgram(c, unix.AT_FDCWD, a[0], 0)
	case unix.SYS_EXECVEAT:
		return runProgram(c, int32(a[0]), a[1], int(int32(a[4])))
	case unix.SYS_MKDIRAT:
		return c.make(int32(a[0]), a[1], true, func(p place) error { return unix.Mkdirat(p.dir, p.name, uint32(a[2])&0o7777) })
	case unix.SYS_MKNODAT:
		kind := uint32(a[2]) & unix.S_IFMT
		if kind != 0 && kind != unix.S_IFREG && kind != unix.S_IFIFO && kind != unix.S_IFSOCK {
			return unix.EPERM
		}
		made := wire.Ask{Op: "bound"}
		err := c.make(int32(a[0]), a[1], false, func(p place) error {
			err := unix.Mknodat(p.dir, p.name, uint32(a[2]), 0)
			if err == nil && kind == unix.S_IFIFO {
				made.Socket, err = identify(p.dir, p.name)
			}
			return err
		})
		if err != nil || kind != unix.S_IFIFO {
			return err
		}
		done, err := c.s.ask(made)
		done()
		return err
	case unix.SYS_SYMLINKAT:
		target, err := c.text(a[0])
		if err != nil {
			return err
		}
		return c.link(target, int32(a[1]), a[2])
	case unix.SYS_LINKAT:
		return c.linkat(int32(a[0]), a[1], int32(a[2]), a[3], int(int32(a[4])))
	case unix.SYS_RENAMEAT2:
		return c.rename(int32(a[0]), a[1], int32(a[2]), a[3], uint(a[4]))
	case unix.SYS_UNLINKAT:
		return c.remove(int32(a[0]), a[1], int(int32(a[2])))
	case unix.SYS_SOCKETPAIR:
		return c.socketpair(int(int32(a[1])), int(int32(a[2])), a[3])
	case unix.SYS_BIND:
		return c.bind(int(int32(a[0])), a[1], int(int32(a[2])))
	case unix.SYS_SENDTO:
		return sendto(c)
	case unix.SYS_SENDMSG:
		return sendmsg(c, int(int32(a[0])), a[1], int(int32(a[2])), 0)
	case unix.SYS_SENDMMSG: // the first of them
		if uint32(a[2]) == 0 {
			return nil
		}
		return sendmsg(c, int(int32(a[0])), a[1], int(int32(a[3])), a[1]+56)
	case unix.SYS_CONNECT:
		return c.connect(int(int32(a[0])), a[1], int(int32(a[2])))
	}
	if by, ok := changing[c.nr]; ok {
		return c.change(by)
	}
	return unix.ENOSYS
}

// judge asks about the places that where returns, and then does make. The worker holds
// names still from its answer on: if a folder has been moved until then, the answer
// was about another place, and it is asked again.
func (c *caller) judge(where func() (wire.Ask, error), do func() error) error {
	ask, err := where()
	if err != nil {
		return err
	}
	for range maxLinks {
		if err := c.valid(); err != nil {
			return err
		}
		done, err := c.s.allowed(ask)
		if err != nil {
			done()
			return err
		}
		now, err := where()
		if err == nil && now == ask {
			c.s.settled(path.Dir(ask.New)) // as long as it can be seen: this call changes the folder
			if err = do(); err == nil {
				c.s.made(ask)
			}
			done()
			return err
		}
		done()
		if err != nil {
			return err
		}
		ask = now
	}
	return unix.EAGAIN
}

// ask is the question about a single place.
func (p place) ask(op string) func() (wire.Ask, error) {
	return func() (wire.Ask, error) {
		real, err := p.real()
		return wire.Ask{Op: op, New: real}, err
	}
}

// make makes a new name that is no link.
func (c *caller) make(dirfd int32, addr uint64, folder bool, do func(place) error) error {
	p, err := c.target(dirfd, addr)
	if err != nil {
		return err
	}
	if !p.plain() || p.slash && !folder {
		return do(p) // the kernel says what is wrong
	}
	if exists(p) {
		return unix.EEXIST
	}
	return c.judge(p.ask("make"), func() error { return do(p) })
}

// exists reports whether the name is taken, be it by a link that leads nowhere.
// A call that must fail need not be asked about.
func exists(p place) bool {
	var st unix.Stat_t
	return unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func (c *caller) target(dirfd int32, addr uint64) (place, error) {
	name, err := c.text(addr)
	if err != nil {
		return place{}, err
	}
	return c.place(dirfd, name)
}

func (c *caller) link(target string, dirfd int32, addr uint64) error {
	p, err := c.target(dirfd, addr)
	if err != nil {
		return err
	}
	switch {
	case !p.plain() || exists(p):
		return unix.EEXIST
	case p.slash:
		return unix.ENOENT
	}
	return c.judge(p.ask("symlink"), func() error { return unix.Symlinkat(target, p.dir, p.name) })
}

func (c *caller) linkat(oldDir int32, oldAddr uint64, newDir int32, newAddr uint64, flags int) error {
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return unix.EINVAL
	}
	name, err := c.text(oldAddr)
	source := -1
	switch {
	case err == unix.ENOENT && flags&unix.AT_EMPTY_PATH != 0:
		if source, err = c.magic("fd/" + strconv.Itoa(int(oldDir))); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if source, err = c.source(oldDir, name, flags&unix.AT_SYMLINK_FOLLOW != 0); err != nil {
			return err
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(source, &st); err != nil {
		return err
	}
	if st.Mode&setID != 0 && st.Mode&unix.S_IFMT == unix.S_IFREG {
		return unix.EPERM
	}
	p, err := c.target(newDir, newAddr)
	if err != nil {
		return err
	}
	if !p.plain() || exists(p) {
		return unix.EEXIST
	}
	where := func() (wire.Ask, error) {
		ask, err := p.ask("link")()
		if err == nil && st.Nlink > 0 { // else it has no name yet
			ask.Old, err = (place{dir: source}).real()
		}
		return ask, err
	}
	return c.judge(where, func() error {
		return unix.Linkat(unix.AT_FDCWD, self(source), p.dir, p.name, unix.AT_SYMLINK_FOLLOW)
	})
}

// source opens what a path leads to, without reading it.
func (c *caller) source(dirfd int32, name string, follow bool) (int, error) {
	base, rest, err := c.base(dirfd, name)
	if err != nil {
		return -1, err
	}
	if rest == "" { // a link of /proc by itself
		if !follow {
			return -1, unix.EPERM
		}
		return base, nil
	}
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	return c.hold(unix.Openat2(base, rest, how))
}

func (c *caller) rename(oldDir int32, oldAddr uint64, newDir int32, newAddr uint64, flags uint) error {
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return unix.EINVAL
	}
	from, err := c.target(oldDir, oldAddr)
	if err != nil {
		return err
	}
	to, err := c.target(newDir, newAddr)
	if err != nil {
		return err
	}
	slash := func(p place) string {
		if p.slash { // means: it must be a folder
			return p.name + "/"
		}
		return p.name
	}
	do := func() error { return unix.Renameat2(from.dir, slash(from), to.dir, slash(to), flags) }
	if !from.plain() || !to.plain() {
		return unix.EBUSY
	}
	if !exists(from) {
		return unix.ENOENT
	}
	ask := wire.Ask{Op: "rename"}
	if flags&unix.RENAME_EXCHANGE != 0 {
		ask.Op = "exchange"
	}
	return c.judge(func() (wire.Ask, error) {
		var err error
		if ask.Old, err = from.real(); err == nil {
			ask.New, err = to.real()
		}
		return ask, err
	}, do)
}

// self is a path of this process to what fd is open on.
func self(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
