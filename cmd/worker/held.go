package main

import (
	"bytes"
	"sync"
)

// maxHeld is how much of what is said is kept while the terminal is drawn on, in bytes.
const maxHeld = 64 << 10

// held keeps what is said while the terminal is drawn on.
type held struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer]. It drops what is too much.
func (h *held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text.Len()+len(p) <= maxHeld {
		h.text.Write(p)
	}
	return len(p), nil
}

// onScreen has f draw on the terminal. What is said on stderr meanwhile, such as
// warnings of the log, is said behind it.
func (p *program) onScreen(f func() error) error {
	h, stderr := new(held), p.stderr
	p.stderr = h
	defer func() {
		p.stderr = stderr
		h.mu.Lock()
		defer h.mu.Unlock()
		_, _ = h.text.WriteTo(stderr) // an error: nobody reads it
	}()
	return f()
}
