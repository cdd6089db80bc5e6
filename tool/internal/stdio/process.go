// Package stdio runs a program in a sandbox that is spoken to over its stdin and stdout.
package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/headtail"
)

// EndTime is how long a program has to end by itself: once after its stdin is closed, and once
// after SIGTERM.
const EndTime = 2 * time.Second

// maxSaid bounds what is kept of a program's stderr, in bytes.
const maxSaid = 4 << 10

// Process is a program that runs. End it.
type Process struct {
	In  *os.File // its stdin, to write to
	Out *os.File // its stdout, to read from

	program started
	errors  *os.File
	gone    chan struct{}
	read    chan struct{} // closed once its stderr was read to its end
	saying  sync.Mutex
	said    headtail.Buffer
	state   string // how it has ended
}

// started is a program that was started.
type started interface {
	Wait() (string, error)
	Signal(sig syscall.Signal) error
	Kill()
}

// Start starts a program in a sandbox, or without one where none holds. It sets the standard
// streams of cmd.
func Start(box *sandbox.Session, cmd *sandbox.Command) (*Process, error) {
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.in, pipes.out, pipes.err
	program, err := begin(box, cmd)
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, err
	}
	p := &Process{In: pipes.writes, Out: pipes.reads, program: program, errors: pipes.errors, gone: make(chan struct{}), read: make(chan struct{}), said: headtail.Buffer{Limit: maxSaid}}
	go p.hear()
	go p.wait()
	return p, nil
}

func begin(box *sandbox.Session, cmd *sandbox.Command) (started, error) {
	ctx := context.Background() // it ends when it is told to, or with the sandbox
	start := box.StartUnheld
	if backend, _ := box.Backend(); backend != "" {
		start = box.Start
	}
	p, err := start(ctx, cmd)
	switch {
	case err == nil:
		return heldProgram{p}, nil
	case errors.Is(err, sandbox.ErrNotHeld):
		return startPlain(cmd)
	}
	return nil, err
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

// Write adds to what the program has said on stderr: words that it wrote elsewhere. It never fails.
func (p *Process) Write(words []byte) (int, error) {
	p.saying.Lock()
	defer p.saying.Unlock()
	return p.said.Write(words)
}

// hear keeps what the program writes to stderr.
func (p *Process) hear() {
	defer close(p.read)
	_, _ = io.Copy(struct{ io.Writer }{p}, p.errors)
}

// wait waits until the program has ended. What has left it can hold stderr for a while.
func (p *Process) wait() {
	state, err := p.program.Wait()
	if err != nil {
		state = err.Error()
	}
	_ = p.errors.SetReadDeadline(time.Now().Add(EndTime))
	<-p.read
	p.state = state
	close(p.gone)
}

// Gone returns a channel that is closed once the program has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// End ends the program, and returns once it has ended: its stdin is closed, then it gets SIGTERM,
// then SIGKILL.
func (p *Process) End() error {
	p.In.Close()
	for _, next := range []func(){func() { _ = p.program.Signal(syscall.SIGTERM) }, p.program.Kill} {
		timer := time.NewTimer(EndTime)
		select {
		case <-p.gone:
			timer.Stop()
		case <-timer.C:
			next()
		}
	}
	<-p.gone
	closeAll(p.Out, p.errors)
	return nil
}

// How says how the program has ended, and what it said last; empty while it runs.
func (p *Process) How() string {
	select {
	case <-p.gone:
	default:
		return ""
	}
	p.saying.Lock()
	text, _ := p.said.Text()
	p.saying.Unlock()
	if last := lastWords(text); last != "" {
		return p.state + ": " + termtext.OneLine(last, termtext.MaxLine)
	}
	return p.state
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
