//go:build unix

package policy

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentworker/worker/internal/symlink"
)

// trusted returns an error if others may change the file at path, or where path
// leads. Each folder above it and each link on the way counts.
func trusted(path string, own bool) error {
	at := string(filepath.Separator)
	if err := trustedName(at, own); err != nil {
		return err
	}
	p := symlink.Split(path)
	for name, ok := p.Next(); ok; name, ok = p.Next() {
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if err := checkOwner(next, info, own); err != nil {
				return err
			}
			at = next
			continue
		}
		if err := checkUser(next, info, own); err != nil {
			return err
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		root, err := p.Follow(target)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if root != "" {
			at = root
		}
	}
	return nil
}

func trustedName(path string, own bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	return checkOwner(path, info, own)
}

// checkOwner reports as an error that others may write a file or folder. In a folder like
// /tmp (its sticky bit is set) they may make files, and change or remove none of others.
func checkOwner(path string, info fs.FileInfo, own bool) error {
	if err := checkUser(path, info, own); err != nil {
		return err
	}
	mode := info.Mode()
	if mode.Perm()&0o022 != 0 && !(mode.IsDir() && mode&fs.ModeSticky != 0) {
		return fmt.Errorf("%s may be written by others than its owner (mode %04o): run 'chmod go-w %s'", path, mode.Perm(), path)
	}
	return nil
}

// checkUser reports as an error that a file belongs to neither an administrator nor, with
// own, to the user.
func checkUser(path string, info fs.FileInfo, own bool) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("%s: its owner is not known", path)
	case stat.Uid == 0 || own && int(stat.Uid) == os.Geteuid():
		return nil
	case own:
		return fmt.Errorf("%s belongs to the user %d: it has to be root's or yours", path, stat.Uid)
	}
	return fmt.Errorf("%s belongs to the user %d: run 'chown root %s'", path, stat.Uid, path)
}
