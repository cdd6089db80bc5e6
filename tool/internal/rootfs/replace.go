package rootfs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

const unreadable = "unreadable"

// Hash returns the SHA-256 of the file real in hex; empty means that there is no
// such file, and "unreadable" that it can't be read.
func (f *Folder) Hash(real string) string {
	if _, err := f.root.Lstat(real); err != nil {
		return ""
	}
	file, _, err := f.OpenFile(real)
	if err != nil {
		return unreadable
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return unreadable
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Replace puts content into the file real in one step: a reader sees the old content
// or the new. An existing file keeps its mode, a new one gets mode, or 0666 less the umask
// if that is 0. If ctx ends before the step, the old content stays. One caller at a time may
// replace a file.
func (f *Folder) Replace(ctx context.Context, real string, content []byte, mode fs.FileMode) (created bool, err error) {
	if ctx.Err() != nil {
		return false, fmt.Errorf("%s: not written: %w", Show(real), context.Cause(ctx))
	}
	dir, base, err := f.openIn(real, true)
	if err != nil {
		return false, PathError(real, err)
	}
	defer dir.Close()
	switch old, err := writable(dir, base, real); {
	case errors.Is(err, fs.ErrNotExist):
		created = true
	case err != nil:
		return false, err
	default:
		mode = old
	}
	temp := ".worker-" + rand.Text() + ".tmp"
	if err := writeTemp(ctx, dir, temp, content, mode); err != nil {
		return false, PathError(real, err)
	}
	if err := dir.Rename(temp, base); err != nil {
		_ = dir.Remove(temp)
		if le, ok := errors.AsType[*os.LinkError](err); ok {
			err = le.Err
		}
		return false, PathError(real, err)
	}
	return created, nil
}

// writable returns the mode of the file base in dir, whose path is real. An error says why the
// file may not be replaced or removed.
func writable(dir *os.Root, base, real string) (fs.FileMode, error) {
	info, err := dir.Lstat(base)
	if err == nil {
		err = CheckRegular(info)
	}
	if err != nil {
		return 0, PathError(real, err)
	}
	mode := info.Mode().Perm()
	if mode&0o200 == 0 {
		return 0, fmt.Errorf("%s is read-only (mode %04o): make it writable first", Show(real), mode)
	}
	return mode, nil
}

// Remove removes the file real. One caller at a time may change a file.
func (f *Folder) Remove(real string) error {
	dir, base, err := f.openIn(real, false)
	if err != nil {
		return PathError(real, err)
	}
	defer dir.Close()
	if _, err = writable(dir, base, real); err != nil {
		return err
	}
	if err = dir.Remove(base); err != nil {
		return PathError(real, err)
	}
	return nil
}

// writeTemp creates the file temp with content on disk. If it fails or ctx ends, no
// file is left. It doesn't use internal/atomicfile: that takes a path, which a new
// symlink could lead out of the folder. It also ignores the umask.
func writeTemp(ctx context.Context, dir *os.Root, temp string, content []byte, mode fs.FileMode) (err error) {
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = dir.Remove(temp)
		}
	}()
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(content, 1<<20) {
		if ctx.Err() != nil {
			break
		}
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("not written: %w", context.Cause(ctx))
	}
	return nil
}
