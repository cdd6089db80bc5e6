package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ownPrefix begins the names of sessions' own folders. Beside each is a file
// that its process holds locked: ".lock" at the end.
const ownPrefix = "sandbox-"

// makeOwn makes the own folder of a session in dir.
func makeOwn(dir string) (path string, lock *os.File, err error) {
	lock, err = os.CreateTemp(dir, ownPrefix+"*.lock")
	if err != nil {
		return "", nil, err
	}
	path = strings.TrimSuffix(lock.Name(), ".lock")
	if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Mkdir(path, 0o700)
	}
	for _, sub := range []string{"tmp", "home"} {
		if err == nil {
			err = os.Mkdir(filepath.Join(path, sub), 0o700)
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, removeOwn(path, lock))
	}
	return path, lock, nil
}

// removeOwn removes what makeOwn has made.
func removeOwn(path string, lock *os.File) error {
	err := removeAll(path)
	return errors.Join(err, os.Remove(lock.Name()), lock.Close())
}

// Sweep removes from dir what sessions have left whose process was killed.
func Sweep(dir string) error {
	locks, err := filepath.Glob(filepath.Join(dir, ownPrefix+"*.lock"))
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range locks {
		lock, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue // its process has just removed it
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			lock.Close() // its process lives
			continue
		}
		errs = append(errs, removeOwn(strings.TrimSuffix(name, ".lock"), lock))
	}
	return errors.Join(errs...)
}

// nameLock is held while names of a workspace are judged and made, by one session of
// all that keep their folders in one place, also of other processes.
type nameLock struct {
	mu   sync.Mutex
	file *os.File // nil: no other session has this workspace
}

// openNames opens what the sessions of dir lock: dir itself, which no command sees.
func openNames(dir string) (*os.File, error) {
	if dir == "" {
		return nil, nil
	}
	return os.Open(dir)
}

// Lock waits for the lock.
func (l *nameLock) Lock() {
	l.mu.Lock()
	if l.file != nil {
		_ = retry(func() error { return unix.Flock(int(l.file.Fd()), unix.LOCK_EX) })
	}
}

// Unlock releases the lock.
func (l *nameLock) Unlock() {
	if l.file != nil {
		_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	}
	l.mu.Unlock()
}

// LockNames waits until no command makes names in a workspace whose sessions keep their folders
// in dir, and keeps commands from it until unlock.
func LockNames(dir string) (unlock func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &nameLock{}
	if l.file, err = openNames(dir); err != nil {
		return nil, err
	}
	l.Lock()
	return func() { l.Unlock(); _ = l.close() }, nil
}

func (l *nameLock) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
