package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/gofrs/flock"
)

// The bounds of the audit log.
const (
	maxFile  = 16 << 20 // bytes of a file, exceeded by one line at most
	oldFiles = 4        // rotated files that are kept
)

// Log is a file of audit lines, one JSON object each, and the files before
// it: PATH.1 is the last one that was full, PATH.4 the oldest one kept. It is safe
// for concurrent use, also by several processes: none of them loses a line where
// another begins the next file.
type Log struct {
	path string
	max  int64

	mu   sync.Mutex
	lock *flock.Flock // shared by those who write, alone for who begins a file
	file *os.File     // nil means closed
}

// Open opens the file at path to add to it. A missing file is made,
// readable by the user alone. The log must be closed.
func Open(path string) (*Log, error) {
	l := &Log{path: path, max: maxFile, lock: flock.New(path+".lock", flock.SetPermissions(0o600))}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	return l, nil
}

func (l *Log) open() (err error) {
	l.file, err = os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return err
}

// Add writes a line.
func (l *Log) Add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("writing the audit log: %w", os.ErrClosed)
	}
	full, err := l.write(append(line, '\n'))
	if err == nil && full {
		err = l.turn()
	}
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

// write adds to the file of the moment, and reports whether that is full.
func (l *Log) write(line []byte) (full bool, err error) {
	if err := l.lock.RLock(); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.lock.Unlock()) }()
	if err := l.current(); err != nil {
		return false, err
	}
	if _, err := l.file.Write(line); err != nil { // one write: lines of processes don't mix
		return false, err
	}
	info, err := l.file.Stat()
	return err == nil && info.Size() >= l.max, err
}

// current opens the file anew where another process has begun the next one, or
// somebody has moved it away. The lock is held.
func (l *Log) current() error {
	own, err := l.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(l.path)
	if err == nil && os.SameFile(own, there) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before := l.file
	if err := l.open(); err != nil {
		l.file = before
		return err
	}
	return before.Close()
}

// turn begins the next file, unless another process has.
func (l *Log) turn() (err error) {
	if err := l.lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.lock.Unlock()) }()
	if err := l.current(); err != nil {
		return err
	}
	if info, err := l.file.Stat(); err != nil || info.Size() < l.max {
		return err
	}
	for n := oldFiles; n > 0; n-- {
		from := l.path
		if n > 1 {
			from += "." + strconv.Itoa(n-1)
		}
		if err := os.Rename(from, l.path+"."+strconv.Itoa(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return l.current()
}

// Close closes the file. Add fails afterwards.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Close(), l.lock.Close())
	l.file = nil
	return err
}
