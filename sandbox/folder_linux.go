package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

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
