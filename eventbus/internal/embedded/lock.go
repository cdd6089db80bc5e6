package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gofrs/flock"
)

// lock makes its process the leader of the store in a folder. The operating system releases it
// when the process ends, however it ends. Nobody ever removes its file: by the file, processes
// notice that the folder was replaced.
type lock struct{ file *flock.Flock }

const (
	rendezvousDir = "rendezvous" // below the folder of the store

	lockFile = "leader.lock"
	pidFile  = "leader.pid" // a file of its own: some systems don't let a locked file be written
)

// tryLock takes the lock of dir. It returns nil without an error if another
// process has it.
func tryLock(dir string) (*lock, error) {
	path := filepath.Join(dir, lockFile)
	l := &lock{flock.New(path, flock.SetPermissions(0o600))}
	switch ok, err := l.file.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w (the folder must be on a disk with file locks: choose another with --state-dir)", path, err)
	case !ok:
		return nil, l.file.Close()
	}
	// Only people read the number. A full disk has no room for it.
	if os.WriteFile(filepath.Join(dir, pidFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600) != nil {
		_ = os.Remove(filepath.Join(dir, pidFile))
	}
	return l, nil
}

func (l *lock) unlock() error { return l.file.Unlock() }

// lockHeld reports whether a process holds the lock with this name in dir, as a
// leader does while it listens ([rendezvous]).
func lockHeld(dir, name string) (bool, error) {
	if name == "" || name != filepath.Base(name) {
		return false, fmt.Errorf("%q does not name a lock in %s", name, dir)
	}
	l := flock.New(filepath.Join(dir, name), flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock() // a shared lock, so that two that check do not see each other
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free && err == nil, errors.Join(err, l.Close())
}
