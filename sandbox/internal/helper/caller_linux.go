package helper

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// caller is a call that waits, and the thread that waits for it.
type caller struct {
	s    *supervisor
	n    *notification
	nr   uint32
	args [6]uint64

	tgid     string // the process, in decimal
	umask    int
	id       identity
	open     []int
	answered bool
}

// caller looks at the process that calls.
func (s *supervisor) caller(n *notification) (*caller, error) {
	c := &caller{s: s, n: n}
	c.nr, c.args = decode(uint32(n.Nr), n.Args)
	fd, err := unix.Open("/proc/"+strconv.Itoa(int(n.PID))+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return c, unix.EACCES
	}
	got, err := unix.Read(fd, s.memory[:])
	unix.Close(fd)
	if err != nil {
		return c, unix.EACCES
	}
	found := 0
	for line := range bytes.Lines(s.memory[:got]) { // the ones that count are the first
		key, value, _ := bytes.Cut(line, []byte(":"))
		switch string(key) {
		case "Umask", "Tgid", "Uid", "Gid":
		default:
			continue
		}
		fields := strings.Fields(string(value))
		switch {
		case string(key) == "Tgid" && len(fields) == 1:
			c.tgid = fields[0]
		case string(key) == "Umask" && len(fields) == 1:
			var umask int64
			umask, err = strconv.ParseInt(fields[0], 8, 32)
			c.umask = int(umask)
		case string(key) == "Uid" && len(fields) == 4:
			c.id.uid, err = strconv.Atoi(fields[3])
		case string(key) == "Gid" && len(fields) == 4:
			c.id.gid, err = strconv.Atoi(fields[3])
		default:
			err = unix.EACCES
		}
		if err != nil {
			return c, unix.EACCES
		}
		if found++; found == 4 {
			return c, nil
		}
	}
	return c, unix.EACCES
}

func (c *caller) close() {
	for _, fd := range c.open {
		unix.Close(fd)
	}
	c.open = nil
}

// hold has fd closed when the call is done.
func (c *caller) hold(fd int, err error) (int, error) {
	if err == nil {
		c.open = append(c.open, fd)
	}
	return fd, err
}

// valid reports whether the caller is still there: until then its number may
// have become another's.
func (c *caller) valid() error {
	id := c.n.ID
	if c.s.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) != nil {
		return unix.ESRCH
	}
	return nil
}

// memory reads up to n bytes of the caller's memory, and no more than a page; less where it ends, or after a NUL. It is
// good until the next call.
func (c *caller) memory(addr uint64, n int) ([]byte, error) {
	buf := c.s.memory[:0]
	for n = min(n, cap(buf)); len(buf) < n; { // page by page: the next one may not be there
		at := addr + uint64(len(buf))
		want := min(n-len(buf), int(4096-at%4096))
		part := buf[len(buf) : len(buf)+want]
		got, err := unix.ProcessVMReadv(int(c.n.PID),
			[]unix.Iovec{{Base: &part[0], Len: uint64(want)}}, []unix.RemoteIovec{{Base: uintptr(at), Len: want}}, 0)
		if err != nil || got == 0 {
			break
		}
		buf = buf[:len(buf)+got]
		if bytes.IndexByte(buf[len(buf)-got:], 0) >= 0 {
			break
		}
	}
	if len(buf) == 0 {
		return nil, unix.EFAULT
	}
	return buf, nil
}

// exactly reads n bytes of the caller's memory.
func (c *caller) exactly(addr uint64, n int) ([]byte, error) {
	raw := make([]byte, n)
	for done := 0; done < n; {
		got, err := unix.ProcessVMReadv(int(c.n.PID), []unix.Iovec{{Base: &raw[done], Len: uint64(n - done)}},
			[]unix.RemoteIovec{{Base: uintptr(addr) + uintptr(done), Len: n - done}}, 0)
		if err != nil || got == 0 {
			return nil, unix.EFAULT
		}
		done += got
	}
	return raw, nil
}

// text reads a string of the caller's memory.
func (c *caller) text(addr uint64) (string, error) {
	buf, err := c.memory(addr, unix.PathMax)
	if err != nil {
		return "", err
	}
	i := bytes.IndexByte(buf, 0)
	switch {
	case i < 0:
		return "", unix.ENAMETOOLONG
	case i == 0:
		return "", unix.ENOENT
	}
	return string(buf[:i]), nil
}

// place is a name in a folder that is held open: whatever is renamed
// meanwhile, it is this folder.
type place struct {
	dir   int
	name  string
	slash bool // the name was written with a "/" at its end
}

// maxLinks bounds the symlinks of one path, as the kernel does.
const maxLinks = 40

// place finds the folder of a path as the caller sees it.
func (c *caller) place(dirfd int32, name string) (place, error) {
	base, rest, err := c.base(dirfd, name)
	if err != nil {
		return place{}, err
	}
	return c.placeAt(base, rest)
}

// placeAt finds the folder of a path that begins at base.
func (c *caller) placeAt(base int, name string) (p place, err error) {
	trimmed := strings.TrimRight(name, "/")
	if trimmed == "" {
		return place{dir: base, name: "."}, nil
	}
	p.slash = trimmed != name
	dir, last := path.Split(trimmed)
	p.name = last
	if dir = strings.TrimRight(dir, "/"); dir == "" {
		p.dir = base
		if name[0] == '/' {
			p.dir = c.s.root
		}
		return p, nil
	}
	p.dir, err = c.hold(unix.Openat2(base, dir, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS,
	}))
	return p, err
}

// base returns the folder that a path begins at, and the rest of the path. The
// links of /proc that lead to no path are followed here, but only for the
// caller's own process: the caller may not see the files of others.
func (c *caller) base(dirfd int32, name string) (int, string, error) {
	if name == "" {
		return -1, "", unix.ENOENT
	}
	if name[0] != '/' {
		if dirfd == unix.AT_FDCWD {
			fd, err := c.magic("cwd")
			return fd, name, err
		}
		fd, err := c.descriptor(dirfd)
		return fd, name, err
	}
	clean := path.Clean(name)
	for from, to := range map[string]string{"/dev/fd/": "/proc/self/fd/", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"} {
		if rest, ok := strings.CutPrefix(clean, from); ok && (rest == "" || from[len(from)-1] == '/') {
			clean = to + rest
		}
	}
	rest, ok := strings.CutPrefix(clean, "/proc/")
	if !ok {
		return c.s.root, name, nil
	}
	who, rest, _ := strings.Cut(rest, "/")
	if who != "self" && who != "thread-self" && who != c.tgid {
		return -1, "", unix.EACCES // nothing is made there
	}
	link, rest, _ := strings.Cut(rest, "/")
	if link == "fd" {
		var fd string
		fd, rest, _ = strings.Cut(rest, "/")
		if _, err := strconv.ParseUint(fd, 10, 31); err != nil {
			return -1, "", unix.ENOENT
		}
		link += "/" + fd
	} else if link != "cwd" && link != "root" && link != "exe" {
		return -1, "", unix.EACCES
	}
	fd, err := c.magic(link)
	return fd, rest, err
}

// magic opens what a link of the caller's folder in /proc leads to.
func (c *caller) magic(link string) (int, error) {
	return c.hold(unix.Open("/proc/"+strconv.Itoa(int(c.n.PID))+"/"+link, unix.O_PATH|unix.O_CLOEXEC, 0))
}

// descriptor opens anew what one of the caller's descriptors holds, without reading it.
func (c *caller) descriptor(fd int32) (int, error) {
	got, err := c.magic("fd/" + strconv.Itoa(int(fd)))
	if err == unix.ENOENT {
		err = unix.EBADF
	}
	return got, err
}

// real returns the real path of p.
func (p place) real() (string, error) {
	dir, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(p.dir))
	if err != nil {
		return "", unix.EACCES
	}
	if dir == "" || dir[0] != '/' {
		return "", unix.ENOENT // not in the tree that the command sees
	}
	return path.Join(dir, p.name), nil
}

// plain reports whether the name is one that could be made.
func (p place) plain() bool { return p.name != "." && p.name != ".." && p.name != "" }
