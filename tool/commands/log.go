package commands

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// logBytes is what is kept of the output of one command: half of it from its beginning, half
// from its end.
const logBytes = 10 << 20

// outputLog keeps the beginning and the end of an output in a file without a name, which goes with
// the process. Offsets count from the beginning of the whole output, dropped parts included. It
// is safe for concurrent use.
type outputLog struct {
	half  int64
	named bool // the file has its name still: the system removes no open files

	mu    sync.Mutex
	file  *os.File
	total int64
	err   error         // of writing: what came later was dropped
	news  chan struct{} // closed at the next write; nil means nobody waits for that
}

// newLog returns an empty log whose file is in dir; "" means the system's folder for
// temporary files.
func newLog(dir string, size int64) (*outputLog, error) {
	file, err := os.CreateTemp(dir, "output-*")
	if err != nil {
		return nil, fmt.Errorf("keeping what the command writes: %w", err)
	}
	return &outputLog{half: size / 2, file: file, named: os.Remove(file.Name()) != nil}, nil
}

// Write implements [io.Writer]. It never fails: a command goes on when its log can't.
func (l *outputLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0 && l.err == nil; {
		at, room := l.place(l.total)
		n := min(int64(len(rest)), room)
		_, l.err = l.file.WriteAt(rest[:n], at)
		if l.err == nil {
			l.total += n
			rest = rest[n:]
		}
	}
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
	return len(p), nil
}

// ReadFrom implements [io.ReaderFrom].
func (l *outputLog) ReadFrom(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{l}, r) }

// place returns where in the file a byte of the output is, and how many follow it there.
func (l *outputLog) place(offset int64) (at, room int64) {
	if offset < l.half {
		return offset, l.half - offset
	}
	in := (offset - l.half) % l.half
	return l.half + in, l.half - in
}

// size is the length of the whole output, and a channel that is closed when it grows.
func (l *outputLog) size() (total int64, grows <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news == nil {
		l.news = make(chan struct{})
	}
	return l.total, l.news
}

// fault is why the log has no more than it has; nil means it has all.
func (l *outputLog) fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// span is a part of an output.
type span struct{ from, to int64 }

func (s span) size() int64 { return max(0, s.to-s.from) }

// gone is the part of the output that is not kept. l.mu is held.
func (l *outputLog) gone() span {
	return span{l.half, max(l.half, l.total-l.half)}
}

// read returns the two kept pieces of a part of the output, and the dropped part between them. A
// piece may be empty.
func (l *outputLog) read(want span) (before, after []byte, gone span, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	want = span{max(0, want.from), min(want.to, l.total)}
	gone = l.gone()
	if gone.size() == 0 || want.to <= gone.from || want.from >= gone.to {
		before, err = l.bytes(want)
		return before, nil, span{}, err
	}
	before, err = l.bytes(span{want.from, gone.from})
	after, err2 := l.bytes(span{gone.to, want.to})
	return before, after, span{max(want.from, gone.from), min(want.to, gone.to)}, errors.Join(err, err2)
}

// bytes reads a part that is kept. l.mu is held.
func (l *outputLog) bytes(s span) ([]byte, error) {
	out := make([]byte, 0, s.size())
	for s.size() > 0 {
		at, room := l.place(s.from)
		n := min(room, s.size())
		part := out[len(out) : int64(len(out))+n]
		if _, err := l.file.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			return out, fmt.Errorf("reading what the command has written: %w", err)
		}
		out = out[:int64(len(out))+n]
		s.from += n
	}
	return out, nil
}

// close ends the log. Nothing reads it after that.
func (l *outputLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = os.ErrClosed
	}
	_ = l.file.Close()
	if l.named {
		_ = os.Remove(l.file.Name())
	}
}
