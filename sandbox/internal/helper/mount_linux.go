package helper

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// build makes the folder tree of a command and enters it. Nothing of the old
// one can be reached after that.
func build(mounts []wire.Mount) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	// The sources are taken hold of first: the new root hides some of them.
	b := &builder{sources: make([]int, len(mounts))}
	for i, m := range mounts {
		if err := b.take(i, m); err != nil {
			return fmt.Errorf("%s %s: %w", m.Op, m.Source, err)
		}
	}
	if err := unix.Mount("sandbox", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=16m"); err != nil {
		return fmt.Errorf("mounting the new root: %w", err)
	}
	root, err := unix.Open("/tmp", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	b.root = root
	for i, m := range mounts {
		if err := b.do(i, m); err != nil {
			return fmt.Errorf("%s %s: %w", m.Op, m.Target, err)
		}
	}
	for _, fd := range []int{b.null, b.hidden} {
		if fd > 0 {
			unix.Close(fd)
		}
	}
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("entering the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return setReadOnly(unix.AT_FDCWD, "/", 0) // the root itself; what is mounted below keeps its own flags
}

type builder struct {
	root         int   // the new root
	sources      []int // by mount: a detached copy of its source
	null, hidden int   // what hidden files and folders show
}

// attributes of all that a command sees: nothing raises rights, nothing is a
// device. /dev binds its nodes without nodev.
const attributes = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

func (b *builder) take(i int, m wire.Mount) error {
	if m.Op != wire.OpRead && m.Op != wire.OpWrite {
		return nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, m.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		if m.Optional && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES)) {
			b.sources[i] = -1
			return nil
		}
		return err
	}
	b.sources[i] = fd
	attr := &unix.MountAttr{Attr_set: attributes}
	if m.Op == wire.OpRead {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr)
}

func (b *builder) do(i int, m wire.Mount) error {
	rel := strings.TrimPrefix(path.Clean(m.Target), "/")
	switch m.Op {
	case wire.OpDir:
		return b.mkdirs(rel)
	case wire.OpSymlink:
		if err := b.mkdirs(path.Dir(rel)); err != nil {
			return err
		}
		return b.in(rel, func(dir int, name string) error { return unix.Symlinkat(m.Source, dir, name) })
	case wire.OpRead, wire.OpWrite:
		if b.sources[i] < 0 {
			return nil
		}
		defer unix.Close(b.sources[i])
		if err := b.place(b.sources[i], rel); err != nil {
			return err
		}
		return b.attach(b.sources[i], rel)
	case wire.OpTmpfs:
		if err := b.mkdirs(rel); err != nil {
			return err
		}
		return b.filesystem("tmpfs", rel, [][2]string{{"mode", "1777"}}, attributes)
	case wire.OpProc:
		if err := b.mkdirs(rel); err != nil {
			return err
		}
		return b.filesystem("proc", rel, nil, attributes|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	case wire.OpDev:
		return b.dev(rel)
	case wire.OpFreeze, wire.OpPin:
		return b.again(rel, m.Op)
	case wire.OpLink:
		return b.link(rel, m.Source)
	case wire.OpHide:
		return b.hide(rel, m.As)
	}
	return errors.New("unknown operation")
}

// at opens what rel names in the new root. No symlink is followed: where one
// has taken the place of what was there, the workspace has changed meanwhile.
func (b *builder) at(rel string) (int, error) {
	if rel == "" {
		rel = "."
	}
	return unix.Openat2(b.root, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH})
}

func (b *builder) attach(tree int, rel string) error {
	to, err := b.at(rel)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// mkdirs makes the folder rel, and those above it, in the new root.
func (b *builder) mkdirs(rel string) error {
	if rel == "" || rel == "." {
		return nil
	}
	err := b.in(rel, func(dir int, name string) error { return unix.Mkdirat(dir, name, 0o755) })
	if errors.Is(err, unix.ENOENT) {
		if err := b.mkdirs(path.Dir(rel)); err != nil {
			return err
		}
		err = b.in(rel, func(dir int, name string) error { return unix.Mkdirat(dir, name, 0o755) })
	}
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// in calls do with the folder in which rel is, and the last name of rel. No symlink is followed:
// one that a command has left in a folder of the session's would lead out of the new root.
func (b *builder) in(rel string, do func(dir int, name string) error) error {
	dir, err := b.at(path.Dir(rel))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return do(dir, path.Base(rel))
}

// place makes what tree is mounted on: a folder or an empty file.
func (b *builder) place(tree int, rel string) error {
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return b.mkdirs(rel)
	}
	if err := b.mkdirs(path.Dir(rel)); err != nil {
		return err
	}
	return b.in(rel, func(dir int, name string) error {
		fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
		if errors.Is(err, unix.EEXIST) {
			return nil
		}
		if err == nil {
			unix.Close(fd)
		}
		return err
	})
}

func (b *builder) filesystem(kind, rel string, options [][2]string, attr int) error {
	m, err := newFilesystem(kind, options, attr)
	if err != nil {
		return err
	}
	defer unix.Close(m)
	return b.attach(m, rel)
}

func newFilesystem(kind string, options [][2]string, attr int) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for _, kv := range options {
		if kv[1] == "" {
			err = unix.FsconfigSetFlag(fs, kv[0])
		} else {
			err = unix.FsconfigSetString(fs, kv[0], kv[1])
		}
		if err != nil {
			return -1, fmt.Errorf("%s: %w", kv[0], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
}

// again mounts rel on itself: a mount point is neither moved nor removed, and
// may be read-only.
func (b *builder) again(rel string, op wire.Op) error {
	at, err := b.at(rel)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return remount(at, op)
}

// remount mounts what at is open on over itself.
func remount(at int, op wire.Op) error {
	tree, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if op == wire.OpFreeze {
		if err := setReadOnly(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE); err != nil {
			return err
		}
	}
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

func setReadOnly(fd int, path string, flags uint) error {
	return unix.MountSetattr(fd, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | attributes})
}

// link mounts the symlink rel on itself: the kernel neither moves nor removes what is a mount point.
// It fails if the link is not the one that was planned for.
func (b *builder) link(rel, text string) error {
	at, err := unix.Openat2(b.root, rel, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if now, err := readlink(place{dir: at}); err != nil || now != text {
		return errors.Join(errors.New("the link has changed"), err)
	}
	return remount(at, wire.OpPin)
}

// hide mounts over rel what cannot be opened. A file gets a device on a mount
// without devices, which not even root can open; a folder gets an empty one
// without rights.
func (b *builder) hide(rel string, as []wire.Placeholder) (err error) {
	at, err := b.at(rel)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	if kind := st.Mode & unix.S_IFMT; len(as) > 0 && (kind == unix.S_IFDIR) == (as[0].Path != "") && (kind == unix.S_IFDIR || kind == unix.S_IFREG) {
		return b.placeholders(at, as)
	}
	cover := &b.null
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		cover = &b.hidden
	}
	if *cover == 0 {
		if *cover, err = newCover(cover == &b.hidden); err != nil {
			return err
		}
	}
	// A detached tree is mounted once. What is mounted is cloned from there on.
	tree, err := unix.OpenTree(*cover, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := setReadOnly(tree, "", unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// newCover returns a descriptor of what hidden files or folders show.
func newCover(folder bool) (int, error) {
	if !folder {
		return unix.Open("/dev/null", unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	// It is attached somewhere that is thrown away with the old root, since
	// older kernels copy no tree that is not attached.
	m, err := newFilesystem("tmpfs", [][2]string{{"mode", "0"}, {"size", "4k"}}, attributes)
	if err != nil {
		return -1, err
	}
	if err := unix.MoveMount(m, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return -1, err
	}
	return m, nil
}

// devices are the nodes of /dev.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

func (b *builder) dev(rel string) error {
	if err := b.mkdirs(rel); err != nil {
		return err
	}
	if err := b.filesystem("tmpfs", rel, [][2]string{{"mode", "755"}, {"size", "64k"}}, unix.MOUNT_ATTR_NOSUID); err != nil {
		return err
	}
	for _, name := range devices {
		tree, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return err
		}
		err = b.place(tree, rel+"/"+name)
		if err == nil {
			err = b.attach(tree, rel+"/"+name)
		}
		unix.Close(tree)
		if err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := b.in(rel+"/"+name, func(dir int, name string) error { return unix.Symlinkat(to, dir, name) }); err != nil {
			return err
		}
	}
	for _, name := range []string{"pts", "shm"} {
		if err := b.mkdirs(rel + "/" + name); err != nil {
			return err
		}
	}
	if err := b.filesystem("devpts", rel+"/pts", [][2]string{{"newinstance", ""}, {"ptmxmode", "0666"}, {"mode", "0620"}}, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
		return fmt.Errorf("pts: %w", err)
	}
	if err := b.filesystem("tmpfs", rel+"/shm", [][2]string{{"mode", "1777"}}, attributes); err != nil {
		return err
	}
	at, err := b.at(rel)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return unix.MountSetattr(at, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}
