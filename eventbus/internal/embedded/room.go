package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// checkRoom returns an error if a store in dir could not be written: the disk is
// full, or does not work. It tries: the figures of a file system don't know of
// quotas.
func checkRoom(dir string) (err error) {
	f, err := os.CreateTemp(filepath.Join(dir, rendezvousDir), "room-*") // where the next leader removes what is left
	if err != nil {
		return fmt.Errorf("the disk takes no file: %w", cause(err))
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(make([]byte, minRoom)); err != nil {
		return fmt.Errorf("the disk has no room: %w", cause(err))
	}
	return nil
}

// room is what is known of the room on a disk.
type room struct {
	mu  sync.Mutex
	had time.Time // when it was last found to have some
}

// cause returns what the system says in err, without the name of a file that is new
// with each try.
func cause(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}
