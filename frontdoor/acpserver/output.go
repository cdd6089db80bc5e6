package acpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

var errClosed = errors.New("the connection is closed")

// output writes messages to a client. After close a write fails, even one that waits
// for a client which does not read.
type output struct {
	w      io.Writer
	lines  chan []byte
	wrote  chan error
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	waiting int            // requests without an answer
	sizes   map[string]int // their bytes, by id
	bytes   int            // of all of them
	idle    chan struct{}  // closed when there are none
}

// newOutput returns an output. Its goroutine ends with close or, in a write that can't be
// interrupted, with that.
func newOutput(w io.Writer) *output {
	o := &output{w: w, lines: make(chan []byte), wrote: make(chan error), closed: make(chan struct{}), sizes: make(map[string]int), idle: make(chan struct{})}
	close(o.idle)
	go o.run()
	return o
}

func (o *output) run() {
	for {
		select {
		case line := <-o.lines:
			_, err := o.w.Write(line)
			select {
			case o.wrote <- err:
			case <-o.closed:
				return
			}
		case <-o.closed:
			return
		}
	}
}

// Write implements [io.Writer] for one message at a time.
func (o *output) Write(line []byte) (int, error) {
	defer o.answered(line)
	select {
	case o.lines <- line:
	case <-o.closed:
		return 0, errClosed
	}
	select {
	case err := <-o.wrote:
		return len(line), err
	case <-o.closed:
		return 0, errClosed
	}
}

func (o *output) close() { o.once.Do(func() { close(o.closed) }) }

// full returns how many requests wait for an answer if another one of so many bytes is
// too much beside them, else 0.
func (o *output) full(size int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting >= maxWaiting || o.bytes+size > maxWaitingBytes {
		return o.waiting
	}
	return 0
}

// expect counts a request that needs an answer.
func (o *output) expect(id json.RawMessage, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sizes[string(id)] += size
	o.bytes += size
	if o.waiting++; o.waiting == 1 {
		o.idle = make(chan struct{})
	}
}

// answered takes a message into account that was written: only an answer and a request
// have an id, and only a request has a method.
func (o *output) answered(line []byte) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if !bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":`)) || json.Unmarshal(line, &head) != nil || head.Method != "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == 0 {
		return
	}
	o.bytes -= o.sizes[string(head.ID)]
	delete(o.sizes, string(head.ID))
	if o.waiting--; o.waiting == 0 {
		clear(o.sizes) // of ids that were answered in another spelling
		o.bytes = 0
		close(o.idle)
	}
}

// settled is closed when all requests of now are answered.
func (o *output) settled() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.idle
}
