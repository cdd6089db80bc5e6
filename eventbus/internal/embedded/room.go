package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// checkRoom returns an error if a store in dir could not be written: the disk is
// full, or does not work. It tries: the figures of a file system don't know of
// quotas.
func checkRoom(dir string) (err error) {
	f, err := os.CreateTemp(filepath.Join(dir, rendezvousDir), "room-*") // where the next leader removes what is left
	if err != nil {
		return fmt.Errorf("the disk takes no file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, minRoom)); err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err // the file itself is of no interest
		}
		return fmt.Errorf("the disk has no room: %w", err)
	}
	return nil
}
