package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// A caller decides about the path that symbolic links lead to, and opens that path
// afterwards. No name in it may be a link by then: a link that is created in between
// leads to ErrMoved.

// ErrMoved says that a path leads elsewhere than when it was resolved.
var ErrMoved = errors.New("what it leads to has changed since the call was judged: make the call again")

// OpenFile opens the regular file at real for reading. It refuses folders, pipes and
// devices without opening them, and does not block on a pipe that replaces the file in between.
func (f *Folder) OpenFile(real string) (*os.File, fs.FileInfo, error) {
	info, err := f.root.Lstat(real)
	if err == nil {
		err = CheckRegular(info)
	}
	if err != nil {
		return nil, nil, PathError(real, err)
	}
	file, err := f.Open(real)
	if err != nil {
		return nil, nil, PathError(real, err)
	}
	if info, err = file.Stat(); err == nil {
		err = CheckRegular(info)
	}
	if err != nil {
		file.Close()
		return nil, nil, PathError(real, err)
	}
	return file, info, nil
}

// openIn opens the folder that holds real, without following a symbolic link,
// and returns it with the last name of real. With create, folders that are
// missing are made.
func (f *Folder) openIn(real string, create bool) (dir *os.Root, base string, err error) {
	dir, err = f.root.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	names := strings.Split(real, "/")
	for _, name := range names[:len(names)-1] {
		info, err := dir.Lstat(name)
		if create && errors.Is(err, fs.ErrNotExist) {
			if err = dir.Mkdir(name, 0o777); err == nil || errors.Is(err, fs.ErrExist) {
				info, err = dir.Lstat(name)
			}
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = ErrMoved
		}
		var sub *os.Root
		if err == nil {
			sub, err = dir.OpenRoot(name)
		}
		dir.Close()
		if err != nil {
			return nil, "", err
		}
		dir = sub
		if now, err := dir.Stat("."); err != nil || !os.SameFile(info, now) {
			dir.Close()
			return nil, "", errors.Join(ErrMoved, err)
		}
	}
	return dir, names[len(names)-1], nil
}

// openSlowly opens real for reading without following a symbolic link, where
// the system has no call for that.
func (f *Folder) openSlowly(real string) (*os.File, error) {
	dir, base, err := f.openIn(real, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	before, err := dir.Lstat(base)
	if err != nil {
		return nil, err
	}
	file, err := dir.OpenFile(base, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(before, now) {
		file.Close()
		return nil, errors.Join(ErrMoved, err)
	}
	return file, nil
}

var (
	errFolder  = errors.New("it is a folder (list_dir shows what is in it)")
	errSpecial = errors.New("it is neither a file nor a folder but a pipe, socket or device")
)

// CheckRegular returns an error unless info is of a regular file.
func CheckRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errFolder
	case !info.Mode().IsRegular():
		return errSpecial
	}
	return nil
}

// PathError names the path as the model knows it, and drops the names of the
// system calls.
func PathError(rel string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist // the same words on every system
	}
	return fmt.Errorf("%s: %w", Show(rel), err)
}
