package helper

import (
	"encoding/binary"
	"path"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// subject says by which arguments a call names the file that it changes.
type subject struct {
	dir, path int // the folder that the path begins at, or the descriptor of the file; the path
	flags     int
	link      bool // a symlink is changed itself
}

// none is an argument that a call does not have.
const none = -1

// changing are the calls that change a file, but not the content of one that is open for writing. Older ones
// are decoded into these.
var changing = map[uint32]subject{
	unix.SYS_TRUNCATE:     {dir: none, path: 0, flags: none},
	unix.SYS_FCHMODAT:     {dir: 0, path: 1, flags: none},
	unix.SYS_FCHMODAT2:    {dir: 0, path: 1, flags: 3},
	unix.SYS_FCHMOD:       {dir: 0, path: none, flags: none},
	unix.SYS_FCHOWNAT:     {dir: 0, path: 1, flags: 4},
	unix.SYS_FCHOWN:       {dir: 0, path: none, flags: none},
	unix.SYS_UTIMENSAT:    {dir: 0, path: 1, flags: 3},
	unix.SYS_SETXATTR:     {dir: none, path: 0, flags: none},
	unix.SYS_LSETXATTR:    {dir: none, path: 0, flags: none, link: true},
	unix.SYS_FSETXATTR:    {dir: 0, path: none, flags: none},
	unix.SYS_REMOVEXATTR:  {dir: none, path: 0, flags: none},
	unix.SYS_LREMOVEXATTR: {dir: none, path: 0, flags: none, link: true},
	unix.SYS_FREMOVEXATTR: {dir: 0, path: none, flags: none},
}

// change changes a file in the place of the caller: the very file that was judged.
func (c *caller) change(by subject) error {
	fd, err := subjectOf(c, by)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	p := place{dir: fd}
	real, err := p.real()
	switch {
	case c.nr == unix.SYS_TRUNCATE && st.Mode&unix.S_IFMT == unix.S_IFREG && (err != nil || c.s.area(real) == elsewhere):
		return unix.EROFS
	case err == nil && c.s.watched(real) && c.s.came(real, &st):
		if err := c.judgeFile(wire.Ask{Op: "change", New: real}, st.Mode); err != nil {
			return err
		}
	}
	if err := c.valid(); err != nil {
		return err
	}
	return apply(c, self(fd))
}

// subjectOf opens what a call changes, without reading it.
func subjectOf(c *caller, by subject) (int, error) {
	dir, flags := int32(unix.AT_FDCWD), 0
	if by.dir != none {
		dir = int32(c.args[by.dir])
	}
	if by.flags != none {
		flags = int(int32(c.args[by.flags]))
	}
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return -1, unix.EINVAL
	}
	if by.path == none || c.args[by.path] == 0 && dir != unix.AT_FDCWD && flags&unix.AT_EMPTY_PATH == 0 && c.nr == unix.SYS_UTIMENSAT {
		return c.descriptor(dir)
	}
	name, err := c.text(c.args[by.path])
	switch {
	case err == unix.ENOENT && flags&unix.AT_EMPTY_PATH != 0 && dir == unix.AT_FDCWD:
		return c.magic("cwd")
	case err == unix.ENOENT && flags&unix.AT_EMPTY_PATH != 0:
		return c.descriptor(dir)
	case err != nil:
		return -1, err
	}
	return c.source(dir, name, flags&unix.AT_SYMLINK_NOFOLLOW == 0 && !by.link)
}

// apply makes the call on the file at path, of which nothing is a link that the caller could change.
func apply(c *caller, path string) error {
	a := c.args
	switch c.nr {
	case unix.SYS_TRUNCATE:
		return unix.Truncate(path, int64(a[1]))
	case unix.SYS_FCHMOD:
		return unix.Chmod(path, uint32(a[1])&0o7777)
	case unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2:
		return unix.Chmod(path, uint32(a[2])&0o7777)
	case unix.SYS_FCHOWN:
		return unix.Chown(path, int(int32(a[1])), int(int32(a[2])))
	case unix.SYS_FCHOWNAT:
		return unix.Chown(path, int(int32(a[2])), int(int32(a[3])))
	case unix.SYS_UTIMENSAT:
		times, err := times(c, a[2])
		if err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, path, times, 0)
	case unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR:
		name, err := attribute(c, a[1])
		if err != nil {
			return err
		}
		return unix.Removexattr(path, name)
	}
	name, err := attribute(c, a[1])
	if err != nil {
		return err
	}
	if a[3] > maxAttribute {
		return unix.E2BIG
	}
	value, err := c.exactly(a[2], int(a[3]))
	if err != nil {
		return err
	}
	return unix.Setxattr(path, name, value, int(int32(a[4])))
}

// maxAttribute bounds the value of an extended attribute, as the kernel does (XATTR_SIZE_MAX).
const maxAttribute = 65536

// attribute reads the name of an extended attribute.
func attribute(c *caller, addr uint64) (string, error) {
	name, err := c.text(addr)
	if err == unix.ENOENT || err == unix.ENAMETOOLONG {
		err = unix.ERANGE
	}
	return name, err
}

// times reads the two times of utimensat, or of an older call that has been decoded into it.
func times(c *caller, addr uint64) ([]unix.Timespec, error) {
	if addr == 0 {
		return []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, nil
	}
	seconds := isUtime(c.n.Nr) // only those
	raw, err := c.exactly(addr, map[bool]int{true: 16, false: 32}[seconds])
	if err != nil {
		return nil, err
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(raw[8*i:])) }
	if seconds {
		return []unix.Timespec{{Sec: word(0)}, {Sec: word(1)}}, nil
	}
	times := []unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}
	if isUtimes(c.n.Nr) { // microseconds
		for i := range times {
			if times[i].Nsec < 0 || times[i].Nsec >= 1e6 {
				return nil, unix.EINVAL
			}
			times[i].Nsec *= 1000
		}
	}
	return times, nil
}

// remove removes a name.
func (c *caller) remove(dirfd int32, addr uint64, flags int) error {
	if flags&^unix.AT_REMOVEDIR != 0 {
		return unix.EINVAL
	}
	p, err := c.target(dirfd, addr)
	if err != nil {
		return err
	}
	name := p.name
	if p.slash { // means: it must be a folder
		name += "/"
	}
	do := func() error { return unix.Unlinkat(p.dir, name, flags) }
	if !p.plain() {
		return do()
	}
	var st unix.Stat_t
	if err := unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	real, err := p.real()
	switch {
	case err != nil:
		return err
	case c.s.area(real) == elsewhere:
		return unix.EROFS
	case !c.s.watched(real) || c.s.mayChange(real, st.Mode) || !c.s.came(real, &st):
		if err = do(); err == nil {
			c.s.forget(real)
		}
		return err
	}
	return c.judge(p.ask("change"), do)
}

// changeOf is the question whether what is at path may be changed: a symlink, or anything else.
func changeOf(path string, link bool) wire.Ask {
	return wire.Ask{Op: map[bool]string{true: "symlink", false: "change"}[link], New: path}
}

// mayChange reports whether it is known that the rules let a file of that mode be changed at path.
func (s *supervisor) mayChange(path string, mode uint32) bool {
	return s.fine[changeOf(path, mode&unix.S_IFMT == unix.S_IFLNK)]
}

// made notes a name that the worker has let the command make: what may be made at a path may be changed and removed
// there. Rules judge a symlink there more strictly.
func (s *supervisor) made(ask wire.Ask) {
	switch ask.Op {
	case "make", "symlink", "link":
	case "rename", "exchange":
		s.forget(ask.Old)
	default:
		return
	}
	if len(s.fine) >= maxFine || s.area(ask.New) != judged {
		return
	}
	s.fine[changeOf(ask.New, false)] = true
	s.fine[wire.Ask{Op: "open", New: ask.New}] = true
	if s.reads {
		s.fine[wire.Ask{Op: "read", New: ask.New}] = true
	}
	if ask.Op == "symlink" {
		s.fine[changeOf(ask.New, true)] = true
	}
}

// forget makes room: nothing is at path any more.
func (s *supervisor) forget(path string) {
	delete(s.fine, changeOf(path, false))
	delete(s.fine, changeOf(path, true))
	delete(s.fine, wire.Ask{Op: "open", New: path})
	delete(s.fine, wire.Ask{Op: "read", New: path})
}

// maxFine bounds the answers that are remembered.
const maxFine = 50_000

// judgeFile asks about an existing file. What may be done to a regular file depends on nothing but its path.
func (c *caller) judgeFile(ask wire.Ask, mode uint32) error {
	if c.s.fine[ask] && mode&unix.S_IFMT != unix.S_IFLNK {
		return nil
	}
	done, err := c.s.ask(ask)
	done()
	if err == nil && mode&unix.S_IFMT == unix.S_IFREG && len(c.s.fine) < maxFine {
		c.s.fine[ask] = true
	}
	return err
}

// folderID tells a folder from all others that may come to its path.
type folderID struct{ dev, ino uint64 }

// came reports whether a file may have come to its place since the plan was made: it,
// or a folder above it.
//
// A folder that was seen before anything changed in it is known from then on: nothing comes
// into it without a new change time of its own.
func (s *supervisor) came(real string, st *unix.Stat_t) bool {
	if st.Ctim.Nano() >= s.job.Planned {
		return true
	}
	return !s.settled(path.Dir(real))
}

// settled reports whether a folder was at its path when the plan was made, and nothing came into it until it was first
// looked at.
func (s *supervisor) settled(dir string) bool {
	var seen []string
	var ids []folderID
	for ; s.watched(dir); dir = path.Dir(dir) {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil {
			return false
		}
		id := folderID{st.Dev, st.Ino}
		if known, ok := s.known[dir]; ok && known == id {
			break
		}
		if st.Ctim.Nano() >= s.job.Planned {
			return false
		}
		seen, ids = append(seen, dir), append(ids, id)
	}
	for i, dir := range seen {
		if len(s.known) < maxFine {
			s.known[dir] = ids[i]
		}
	}
	return true
}
