// Package atomicfile writes files as a whole: a reader sees the old text or the
// new one, never a part, even after a crash.
//
// It is our own because github.com/google/renameio has no support for Windows,
// which the project is built for.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path, or makes it, with the permissions of mode
// whatever the umask. A symlink at path is replaced, not followed.
func Write(path string, data []byte, mode fs.FileMode) error {
	staged, err := Stage(path, data, mode)
	if err != nil {
		return err
	}
	return staged.Replace()
}

// Create makes the file at path, with the permissions of mode whatever the
// umask. A file that exists stays, and the error is
// [fs.ErrExist]. The file system needs hard links.
func Create(path string, data []byte, mode fs.FileMode) error {
	staged, err := Stage(path, data, mode)
	if err != nil {
		return err
	}
	return errors.Join(os.Link(staged.temp, path), staged.Discard())
}

// Staged is a text on disk beside the file that it is to replace. End it with
// Replace or Discard.
type Staged struct {
	temp, path string
}

// Stage writes and syncs data to a new file in the folder of path: what then
// decides whether to replace path decides at the last moment.
func Stage(path string, data []byte, mode fs.FileMode) (*Staged, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return &Staged{f.Name(), path}, nil
}

// Replace puts the text in place of the file. If that fails, the text is gone.
func (s *Staged) Replace() error {
	if err := os.Rename(s.temp, s.path); err != nil {
		return errors.Join(err, s.Discard())
	}
	return nil
}

// Discard removes the text and leaves the file alone.
func (s *Staged) Discard() error { return os.Remove(s.temp) }
