package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/headtail"
)

// started is a program that runs.
type started interface {
	Wait() (string, error)
	Signal(sig syscall.Signal) error
	Kill()
}

// begin starts a program in the sandbox, or without one where none holds.
func (c *connection) begin(cmd *sandbox.Command) (started, error) {
	box, err := c.sandboxed()
	if err != nil {
		return nil, err
	}
	ctx := context.Background() // it ends when it is told to, or with the sandbox
	if backend, _ := box.Backend(); backend != "" {
		p, err := box.Start(ctx, cmd)
		if err != nil {
			return nil, err
		}
		return heldProgram{p}, nil
	}
	p, err := box.StartUnheld(ctx, cmd)
	if errors.Is(err, sandbox.ErrNotHeld) {
		return startPlain(cmd)
	}
	if err != nil {
		return nil, err
	}
	return heldProgram{p}, nil
}

// heldProgram is a program of a sandbox.
type heldProgram struct{ *sandbox.Process }

func (p heldProgram) Wait() (string, error) {
	state, err := p.Process.Wait()
	return state.String(), err
}

// plainProgram is a program where this system has nothing to hold it.
type plainProgram struct{ *exec.Cmd }

func startPlain(cmd *sandbox.Command) (started, error) {
	c := exec.Command(cmd.Args[0], cmd.Args[1:]...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	return plainProgram{c}, nil
}

func (p plainProgram) Wait() (string, error) {
	err := p.Cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return p.ProcessState.String(), err
}

func (p plainProgram) Signal(sig syscall.Signal) error { return p.Process.Signal(sig) }
func (p plainProgram) Kill()                           { _ = p.Process.Kill() }

// pipes are the standard streams of a program, both ends of each.
type pipes struct {
	in, out, err          *os.File // the program's
	writes, reads, errors *os.File // ours
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	for _, ends := range [][2]**os.File{{&p.in, &p.writes}, {&p.reads, &p.out}, {&p.errors, &p.err}} {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeTheirs()
			p.closeOurs()
			return nil, err
		}
		*ends[0], *ends[1] = r, w
	}
	return p, nil
}

func (p *pipes) closeTheirs() { closeAll(p.in, p.out, p.err) }
func (p *pipes) closeOurs()   { closeAll(p.writes, p.reads, p.errors) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// process is a server's program that runs.
type process struct {
	program started
	pipes   *pipes
	gone    chan struct{} // closed once it has ended
	read    chan struct{} // closed once its stderr was read to its end
	said    *headtail.Buffer
	state   string // how it has ended
}

// hear keeps what the program writes to stderr.
func (p *process) hear() {
	defer close(p.read)
	_, _ = io.Copy(p.said, p.pipes.errors)
}

// wait waits until the program has ended. What has left it can hold stderr for a while.
func (p *process) wait() {
	state, err := p.program.Wait()
	if err != nil {
		state = err.Error()
	}
	_ = p.pipes.errors.SetReadDeadline(time.Now().Add(endTime))
	<-p.read
	p.state = state
	close(p.gone)
}

// end ends the program: its stdin is closed, then it gets SIGTERM, then SIGKILL.
func (p *process) end() error {
	p.pipes.writes.Close()
	for _, next := range []func(){func() { _ = p.program.Signal(syscall.SIGTERM) }, p.program.Kill} {
		timer := time.NewTimer(endTime)
		select {
		case <-p.gone:
			timer.Stop()
		case <-timer.C:
			next()
		}
	}
	<-p.gone
	closeAll(p.pipes.reads, p.pipes.errors)
	return nil
}

// how says how the program has ended, and what it said last.
func (p *process) how() string {
	var parts []string
	select {
	case <-p.gone:
		parts = append(parts, p.state)
		text, _ := p.said.Text()
		if last := lastWords(text); last != "" {
			parts = append(parts, termtext.OneLine(last, 500))
		}
	default:
	}
	return strings.Join(parts, ": ")
}

// lastWords returns the line of a program's output that says what went wrong: the last one with
// the word error, else its last one.
func lastWords(text string) string {
	last := ""
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if strings.Contains(strings.ToLower(line), "error") {
			return line
		}
		if last == "" {
			last = line
		}
	}
	return last
}

// messages reads the lines of a program's stdout that can be messages. Other lines, which
// some servers write there, are kept with what it writes to stderr.
type messages struct {
	r     *bufio.Reader
	file  *os.File
	other io.Writer
	rest  []byte
}

// maxLine bounds a line that a server writes, in bytes.
const maxLine = 16 << 20

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if start := bytes.TrimLeft(line, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
			m.rest = line
		} else if len(start) > 0 {
			_, _ = m.other.Write(line)
		}
		if err != nil && len(m.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line reads a line of at most maxLine bytes.
func (m *messages) line() (line []byte, err error) {
	for {
		part, err := m.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("it wrote a line of more than %d MiB", maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return line, err
	}
}

// Close implements [io.Closer].
func (m *messages) Close() error { return m.file.Close() }
