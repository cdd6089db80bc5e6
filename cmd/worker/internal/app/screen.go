package app

import (
	"bytes"
	"errors"
	"sync"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
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

// OnScreen has f draw on the terminal. What is said on stderr meanwhile, such as
// warnings of the log, is said behind it.
func (p *Program) OnScreen(f func() error) error {
	h, stderr := new(held), p.Stderr
	p.Stderr = h
	defer func() {
		p.Stderr = stderr
		h.mu.Lock()
		defer h.mu.Unlock()
		_, _ = h.text.WriteTo(stderr) // an error: nobody reads it
	}()
	return f()
}

// NeedScreen is an error of use where the program has no terminal that it could draw
// on and read keys from. instead says what there is without one.
func (p *Program) NeedScreen(command, instead string) error {
	if p.StdinTTY && p.OutTerm.IsTerminal() && p.OutTerm.Redraws {
		return nil
	}
	why := "stdin and stdout are not both one"
	if p.StdinTTY && p.OutTerm.IsTerminal() {
		why = "TERM says that this one can't be drawn on"
	}
	return cli.Usage(errors.New(command + " needs a terminal, and " + why + ": " + instead))
}
