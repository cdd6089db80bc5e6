package helper

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/agentworker/worker/sandbox/internal/wire"
)

// placeholders mounts over the file or folder at what looks like it to git. Whoever may open all
// files reads zeros.
func (b *builder) placeholders(at int, all []wire.Placeholder) error {
	m, err := newFilesystem("tmpfs", [][2]string{{"mode", "755"}}, attributes)
	if err != nil {
		return err
	}
	defer unix.Close(m)
	if err := unix.MoveMount(m, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	shown := ""
	for _, p := range all {
		if p.Path == "" {
			shown, p.Path = "file", "file"
		}
		if err := makePlaceholder(m, p); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
	}
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
	if shown == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	tree, err := unix.OpenTree(m, shown, flags)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := setReadOnly(tree, "", unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// makePlaceholder makes a file, and the folders that it is in, below a folder that nothing else
// has changed.
func makePlaceholder(root int, p wire.Placeholder) error {
	for i, c := range p.Path {
		if c == '/' {
			if err := unix.Mkdirat(root, p.Path[:i], 0o755); err != nil && err != unix.EEXIST {
				return err
			}
		}
	}
	mode := uint32(0)
	if p.Executable {
		mode = 0o100
	}
	f, err := unix.Openat(root, p.Path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	defer unix.Close(f)
	if err := unix.Ftruncate(f, p.Size); err != nil {
		return err
	}
	modified := unix.NsecToTimespec(p.Modified)
	return unix.UtimesNanoAt(root, p.Path, []unix.Timespec{modified, modified}, 0)
}
