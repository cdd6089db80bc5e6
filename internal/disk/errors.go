package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// TimeoutError says that the file system has not answered.
type TimeoutError struct {
	After time.Duration
	Made  bool // the call was made and has not returned; false: it was not made
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the file system has not answered within %v", e.After)
}

// NotThere reports whether err says that a path leads nowhere. It is false for
// what exists and cannot be read.
func NotThere(err error) bool {
	for _, none := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// TimedOut reports whether err says that the file system has not answered.
func TimedOut(err error) bool {
	_, ok := errors.AsType[*TimeoutError](err)
	return ok
}

// Advice says what to do about err of a file or folder; ordinary is returned
// where the file system has answered.
func Advice(err error, ordinary string) string {
	if TimedOut(err) {
		return "check the disk, mount or network that it is on, or remove it from the folder; it is read once the file system answers"
	}
	return ordinary
}

// Cause returns the text of err without the operation and path, which a
// diagnostic names itself.
func Cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return err.Error()
}
