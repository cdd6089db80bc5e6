package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked is returned by Lock while another process serves the workspace.
var ErrLocked = errors.New("another worker is running in this workspace")

// Lock is the right to use the state folder's event store. The operating
// system gives it back when the process ends, however it ends.
type Lock struct{ file *flock.Flock }

// lockWait is how long Lock waits for a process that is about to end, and
// lockRetry how often it looks.
const (
	lockWait  = 2 * time.Second
	lockRetry = 20 * time.Millisecond
)

// Lock takes the state folder's lock. If another process keeps it for longer
// than two seconds, the error is [ErrLocked].
func (w *Workspace) Lock(ctx context.Context) (*Lock, error) {
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return w.lock(func(file *flock.Flock) (bool, error) {
		ok, err := file.TryLockContext(waiting, lockRetry)
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case waiting.Err() != nil:
			return ok, nil
		}
		return ok, err
	})
}

// TryLock is Lock without the waiting.
func (w *Workspace) TryLock() (*Lock, error) {
	return w.lock((*flock.Flock).TryLock)
}

func (w *Workspace) lock(try func(*flock.Flock) (bool, error)) (*Lock, error) {
	path := filepath.Join(w.StateDir, "worker.lock")
	l := &Lock{flock.New(path, flock.SetPermissions(0o600))}
	pid := filepath.Join(w.StateDir, "worker.pid") // beside it: on some systems a locked file can't be written
	ok, err := try(l.file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w", path, err)
	case !ok:
		return nil, fmt.Errorf("%w%s; it may be a 'worker mcp' or 'worker serve': wait until it has ended, or give this one its own --state-dir", ErrLocked, holder(pid))
	}
	// The number is for the message above only.
	if err := os.WriteFile(pid, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("writing %s: %w", pid, err), l.Unlock())
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
