package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/ci"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
)

// Console is what the program reads from and writes to.
type Console struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	StdinTTY  bool             // stdin is a terminal
	OutTerm   terminal.Output  // stdout, as a terminal
	ErrTerm   terminal.Output  // stderr, as a terminal
	Live      *terminal.Screen // shows live lines; nil means that nothing does
	OneOutput bool             // stdout and stderr lead to the same place

	// Asking is held while something is written to stderr for people: an open
	// question, or a line of progress.
	Asking sync.Mutex
}

// ReadStdin reads stdin to its end, or until ctx ends. The read itself can't be
// interrupted: it may last until the process ends.
func (c *Console) ReadStdin(ctx context.Context) (string, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(c.Stdin)
		read <- input{data, err}
	}()
	select {
	case in := <-read:
		return string(in.data), in.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// JSONOut returns stdout for JSON. On a terminal it escapes what could move the cursor or
// change the direction of text. Elsewhere JSON is not changed.
func (c *Console) JSONOut() io.Writer {
	if c.OutTerm.IsTerminal() {
		return termtext.JSON(c.Stdout)
	}
	return ci.JSON(c.Stdout)
}

// PrintJSON writes one JSON document, over several lines if indented.
func (c *Console) PrintJSON(doc any, indented bool) error {
	enc := json.NewEncoder(c.JSONOut())
	enc.SetEscapeHTML(false)
	if indented {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(doc)
}

// PrintTable prints a table on stdout, and on stderr which columns it leaves out.
func (c *Console) PrintTable(t *terminal.Table, wide bool) error {
	left, err := t.Print(c.Stdout, c.OutTerm, wide)
	if err == nil && len(left) > 0 {
		fmt.Fprintf(c.Stderr, "left out: %s; see them with --wide\n", strings.Join(left, ", "))
	}
	return err
}

// PrintNotes prints notes about an answer on stderr.
func (c *Console) PrintNotes(notes []string) {
	for _, note := range notes {
		fmt.Fprintf(c.Stderr, "note: %s\n", termtext.Printable(note))
	}
}

// RegisterWide registers the flag of the commands that print a table.
func RegisterWide(cmd *cobra.Command, wide *bool) {
	cmd.Flags().BoolVar(wide, "wide", false, "show all columns, each row in one line, however wide the terminal is")
}

// maxDelayed bounds, in bytes, what is kept of stderr while the terminal is drawn on.
const maxDelayed = 64 << 10

// delayed keeps what is written to stderr while the terminal is drawn on.
type delayed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer]. It drops what is above the bound.
func (h *delayed) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text.Len()+len(p) <= maxDelayed {
		h.text.Write(p)
	}
	return len(p), nil
}

// OnScreen lets f draw on the terminal. What is written to stderr meanwhile, such as
// warnings of the log, is printed afterwards.
func (c *Console) OnScreen(f func() error) error {
	h, stderr := new(delayed), c.Stderr
	c.Stderr = h
	defer func() {
		c.Stderr = stderr
		h.mu.Lock()
		defer h.mu.Unlock()
		_, _ = h.text.WriteTo(stderr) // an error: nobody reads it
	}()
	return f()
}

// NeedScreen returns an error of use if the program has no terminal to draw on and to read
// keys from. instead says what works without one.
func (c *Console) NeedScreen(command, instead string) error {
	if c.StdinTTY && c.OutTerm.IsTerminal() && c.OutTerm.Redraws {
		return nil
	}
	why := "stdin and stdout are not both one"
	if c.StdinTTY && c.OutTerm.IsTerminal() {
		why = "TERM says that this one can't be drawn on"
	}
	return cli.Usage(errors.New(command + " needs a terminal, and " + why + ": " + instead))
}
