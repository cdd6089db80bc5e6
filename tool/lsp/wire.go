package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of what a server writes.
const (
	maxMessage = 16 << 20 // of one message, in bytes
	maxHeader  = 4 << 10  // of the headers of a message, in bytes
	maxBurst   = 32 << 20 // what it may write at once, in bytes
	perSecond  = 1 << 20  // what it may write for long, in bytes
	sendTime   = 2 * time.Second
)

// wire are messages over the standard streams of a program, with the headers of the base
// protocol. Its bounds hold before anything is decoded. It is a [jsonrpc2.ObjectStream].
type wire struct {
	r     *bufio.Reader
	in    *os.File // of the program
	close func() error

	sending sync.Mutex
	ended   chan struct{} // closed once nobody reads any more

	allowance float64 // of bytes that may come
	last      time.Time
	wrong     func(error) // what the reading has ended by
}

func newWire(out, in *os.File, wrong func(error)) *wire {
	return &wire{
		r: bufio.NewReaderSize(out, 64<<10), in: in, wrong: wrong, ended: make(chan struct{}), allowance: maxBurst, last: time.Now(),
		close: sync.OnceValue(func() error { return errors.Join(in.Close(), out.Close()) }),
	}
}

// ReadObject reads a message. An error ends the connection, and is the last one.
func (w *wire) ReadObject(v any) error {
	body, err := w.message()
	if err == nil {
		if err = json.Unmarshal(body, v); err != nil {
			err = fmt.Errorf("it writes what is no message: %w", err)
		}
	}
	if err != nil {
		w.wrong(err)
		close(w.ended)
	}
	return err
}

func (w *wire) message() ([]byte, error) {
	size, err := w.header()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	w.allowance = min(maxBurst, w.allowance+now.Sub(w.last).Seconds()*perSecond) - float64(size)
	w.last = now
	if w.allowance < 0 {
		return nil, fmt.Errorf("it writes too much: more than %d MiB and %d MiB a second", maxBurst>>20, perSecond>>20)
	}
	body, err := io.ReadAll(io.LimitReader(w.r, int64(size)))
	if err == nil && len(body) < size {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// header reads the headers of a message, and returns the size of its body.
func (w *wire) header() (size int, err error) {
	size = -1
	for read := 0; ; {
		raw, err := w.r.ReadSlice('\n')
		if read += len(raw); read > maxHeader || errors.Is(err, bufio.ErrBufferFull) {
			return 0, errors.New("it writes what is no message")
		}
		if err != nil {
			return 0, err
		}
		line := strings.TrimRight(string(raw), "\r\n")
		if line == "" && size >= 0 {
			return size, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return 0, fmt.Errorf("it writes what is no message: %.60q", line)
		}
		if strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 {
				return 0, fmt.Errorf("it writes a message of the length %.20q", value)
			}
			if size > maxMessage {
				return 0, fmt.Errorf("it writes a message of more than %d MiB", maxMessage>>20)
			}
		}
	}
}

// WriteObject writes a message. A server that does not read for 2 seconds is broken.
func (w *wire) WriteObject(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.sending.Lock()
	defer w.sending.Unlock()
	_ = w.in.SetWriteDeadline(time.Now().Add(sendTime))
	_, err = w.in.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("it does not read what it is sent")
	}
	if err != nil {
		w.wrong(err)
		_ = w.close() // a part of the message may be sent
	}
	return err
}

// Close ends the connection.
func (w *wire) Close() error { return w.close() }
