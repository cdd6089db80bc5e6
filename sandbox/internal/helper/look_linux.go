package helper

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// errNative has the kernel carry out a call unchanged.
var errNative = errors.New("the call goes on")

// look opens what is there for the caller. What has changed since the command was
// started is judged first: mounts hold only what was there then.
func (c *caller) look(dirfd int32, addr uint64, flags int) error {
	const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY
	if flags&(unix.O_PATH|tmpfile) != 0 { // shows nothing that is in a file
		return errNative
	}
	name, err := c.text(addr)
	if err != nil {
		return err
	}
	if ofKernel(name) {
		return lookKernel(c, name, flags)
	}
	base, rest, err := c.base(dirfd, name)
	if err != nil {
		return err
	}
	fd := base
	if rest != "" {
		fd, err = c.hold(unix.Openat2(base, rest, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC | uint64(flags&(unix.O_NOFOLLOW|unix.O_DIRECTORY)), Resolve: unix.RESOLVE_NO_MAGICLINKS,
		}))
		if err != nil {
			return err
		}
	}
	return c.lookAt(fd, flags)
}

// lookAt opens what fd holds for the caller.
func (c *caller) lookAt(fd, flags int) error {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fs)); err != nil {
		return unix.EACCES
	}
	real, err := (place{dir: fd}).real()
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFLNK:
		return unix.ELOOP
	case err != nil: // a pipe without a name, or what is nowhere here
	case fs.Type == unix.PROC_SUPER_MAGIC:
		// Links have led here, and mean the caller where they have led to this process.
		if rest, ok := strings.CutPrefix(real, "/proc/"+strconv.Itoa(os.Getpid())); ok && (rest == "" || rest[0] == '/') {
			if fd, err = openKernel(c, "/proc/"+c.tgid+rest, flags&^unix.O_NOFOLLOW); err != nil {
				return err
			}
		}
		return giveKernel(c, fd, flags)
	case kind == unix.S_IFCHR && real == "/dev/tty":
		return c.terminal(flags)
	case kind == unix.S_IFREG, kind == unix.S_IFIFO:
		if err := c.judgeOpen(fd, real, &st, flags); err != nil {
			return err
		}
	}
	return c.reopen(fd, flags)
}

// judgeOpen asks about a file at a path that fd holds, if it is one that may have come since.
func (c *caller) judgeOpen(fd int, real string, st *unix.Stat_t, flags int) error {
	if st.Mode&unix.S_IFMT == unix.S_IFIFO {
		if err := askAt(c, "pipe", fd, real); err != nil {
			return err
		}
	}
	if !c.s.watched(real) || !c.s.came(real, st) {
		return nil
	}
	var asks []wire.Ask
	if flags&unix.O_ACCMODE != unix.O_WRONLY {
		asks = append(asks, wire.Ask{Op: "read", New: real})
	}
	if flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0 {
		asks = append(asks, wire.Ask{Op: "open", New: real})
	}
	for _, ask := range asks {
		if err := c.judgeFile(ask, st.Mode); err != nil {
			return err
		}
	}
	return nil
}

// runProgram judges a program like a file that is opened to be read. Then the kernel runs it: nobody can do
// that in the place of the caller.
func runProgram(c *caller, dirfd int32, addr uint64, flags int) error {
	name, err := c.text(addr)
	fd := -1
	switch {
	case err == unix.ENOENT && flags&unix.AT_EMPTY_PATH != 0:
		fd, err = c.descriptor(dirfd)
	case err == nil:
		fd, err = c.source(dirfd, name, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	}
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return unix.EACCES
	}
	if real, err := (place{dir: fd}).real(); err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		if err := c.judgeOpen(fd, real, &st, unix.O_RDONLY); err != nil {
			return err
		}
	}
	return errNative
}

// watched reports whether rules judge what is at path.
func (s *supervisor) watched(path string) bool {
	return longest(s.job.Watched, path) > longest(s.job.Free, path)
}
