package app

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

const (
	// logName is the log's file in the state folder; beside it is the one before,
	// with oldLog at its end.
	logName = "worker.log"
	oldLog  = ".1"

	// maxLog is how large a log grows, in bytes, before the next one begins.
	maxLog = 4 << 20
)

// logFile is the log of the state folder, which the processes there share. A
// line is written at once, so that lines stay whole. The file and the one
// before it are all that is kept.
type logFile struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File // nil means closed
}

// openLog opens a log, which only its owner may read.
func openLog(path string) (*logFile, error) {
	l := &logFile{path: path, max: maxLog}
	var err error
	l.file, err = l.open()
	return l, err
}

func (l *logFile) open() (*os.File, error) {
	return os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// Write implements [io.Writer].
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return 0, os.ErrClosed
	}
	if err := l.rotate(int64(len(line))); err != nil {
		return 0, err
	}
	return l.file.Write(line)
}

// rotate begins the next file if this one is full, or if another process has begun it. If
// two do so at once, one may drop what the other has kept.
func (l *logFile) rotate(more int64) error {
	own, err := l.file.Stat()
	if err != nil || own.Size()+more <= l.max {
		return err
	}
	if there, err := os.Stat(l.path); err == nil && os.SameFile(own, there) {
		if err := os.Rename(l.path, l.path+oldLog); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	next, err := l.open()
	if err != nil {
		return err
	}
	err = l.file.Close()
	l.file = next
	return err
}

// Close closes the file. What is logged later is lost.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
