package eventbus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// lock is the right to open the store in a folder. The operating system gives
// it back when its process ends, however it ends.
type lock struct{ file *flock.Flock }

const (
	lockFile = "host.lock"
	pidFile  = "host.pid" // beside it: on some systems a locked file can't be written
)

// tryLock takes the lock of dir; nil without an error: another process has it.
func tryLock(dir string) (*lock, error) {
	path := filepath.Join(dir, lockFile)
	l := &lock{flock.New(path, flock.SetPermissions(0o600))}
	switch ok, err := l.file.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w (the folder has to be on a disk with file locks: choose another with --state-dir)", path, err)
	case !ok:
		return nil, l.file.Close()
	}
	// The number is for people only.
	if err := os.WriteFile(filepath.Join(dir, pidFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, l.unlock())
	}
	return l, nil
}

// held reports whether a process has the lock named name in dir, as one of
// [share] has as long as it lets others in.
func held(dir, name string) (bool, error) {
	if name == "" || name != filepath.Base(name) {
		return false, fmt.Errorf("%q is no lock in %s", name, dir)
	}
	l := flock.New(filepath.Join(dir, name), flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock() // shared: two that look do not see each other
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free && err == nil, errors.Join(err, l.Close())
}

func (l *lock) unlock() error { return l.file.Unlock() }

// holder names the process that has the lock of dir, as far as that is known.
func holder(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, pidFile))
	if err != nil || len(data) > 32 {
		return "another process"
	}
	return "process " + strings.TrimSpace(string(data))
}
