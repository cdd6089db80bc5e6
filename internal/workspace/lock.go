package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// ErrLocked is returned by Lock while another process serves the workspace.
var ErrLocked = errors.New("another worker is running in this workspace")

// Lock is the right to use the state folder's event store. The operating
// system gives it back when the process ends, however it ends.
type Lock struct{ file *flock.Flock }

// Lock takes the state folder's lock, or fails with [ErrLocked] at once.
func (w *Workspace) Lock() (*Lock, error) {
	path := filepath.Join(w.StateDir, "worker.lock")
	l := &Lock{flock.New(path, flock.SetPermissions(0o600))}
	ok, err := l.file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w%s: wait until it has ended, or give this one its own --state-dir", ErrLocked, holder(path))
	}
	// The number is for the message above only: the lock is the file's lock.
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %s: %w", path, err), l.Unlock())
	}
	return l, nil
}

// Unlock gives the lock back.
func (l *Lock) Unlock() error { return l.file.Unlock() }

func holder(path string) string {
	data, err := os.ReadFile(path)
	if err != nil || len(data) > 32 {
		return ""
	}
	return " (process " + strings.TrimSpace(string(data)) + ")"
}
