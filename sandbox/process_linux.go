package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// Process is a command that runs.
type Process struct {
	session *Session
	profile *Profile
	plan    *Plan
	held    []string
	pidfd   *os.File
	socket  *os.File
	asks    *os.File   // what the supervisor asks; nil without one
	conn    *wire.Conn // on socket
	stop    func()     // releases what only this command used

	sending  sync.Mutex
	answered chan struct{} // closed when nothing is asked any more
	done     chan struct{}

	// Written before done is closed.
	state   State
	err     error
	refused []Refusal
}

// begin sends the job and waits until the command runs.
func (p *Process) begin(job *wire.Job) error {
	p.conn, p.answered = wire.NewConn(p.socket), make(chan struct{})
	go p.answer() // the first question may be about the program of the command
	err := p.conn.Write(job)
	var m wire.Message
	for err == nil {
		if err = p.conn.Read(&m); err != nil || m.Kind == wire.KindStarted {
			break
		}
		if m.Kind == wire.KindError {
			err = errors.New(m.Error)
		}
	}
	if err == nil {
		return nil
	}
	p.Kill()
	p.gone()
	<-p.answered
	return err
}

// maxRefusals bounds how many refusals of one command are remembered.
const maxRefusals = 50

// follow answers the supervisor until the command has ended.
func (p *Process) follow() {
	ended := false
	for !ended {
		var m wire.Message
		if err := p.conn.Read(&m); err != nil {
			if p.err = errKilled; !p.hasNamespace() {
				p.err = errHelperKilled
			}
			break
		}
		switch m.Kind {
		case wire.KindError:
			p.err = errors.New(m.Error)
			ended = true
		case wire.KindExited:
			p.state = State{syscall.WaitStatus(m.Status)}
			ended = true
		}
	}
	p.Kill() // it is ending anyway; nothing of it may be left
	p.gone()
	<-p.answered
	p.session.mu.Lock()
	delete(p.session.running, p)
	p.session.mu.Unlock()
	close(p.done)
}

// answer answers what the supervisor asks, until that has ended. Names are held still from an answer until the
// supervisor has used it.
func (p *Process) answer() {
	defer close(p.answered)
	if p.asks == nil {
		return
	}
	defer p.asks.Close()
	locked := false
	unlock := func() {
		if locked {
			p.session.names.Unlock()
			locked = false
		}
	}
	defer unlock()
	for conn := wire.NewConn(p.asks); ; {
		var m wire.Message
		if conn.Read(&m) != nil {
			return
		}
		unlock()
		if m.Kind != wire.KindAsk || m.Ask == nil {
			continue
		}
		if m.Ask.Socket == (wire.Socket{}) {
			p.session.names.Lock()
			locked = true
		}
		answer := wire.Message{Kind: wire.KindAnswer}
		if r := p.session.answer(p.profile, p.held, m.Ask); r == nil {
			answer.Reads = m.Ask.New != "" && p.profile.judge(m.Ask.New).read
		} else if answer.Errno = int(unix.EACCES); len(p.refused) < maxRefusals {
			p.refused = append(p.refused, *r)
		}
		if conn.Write(answer) != nil {
			return
		}
	}
}

var (
	errKilled       = errors.New("the sandbox was killed")
	errHelperKilled = errors.New("the process that ends what the command has started was killed: some of that may still run")
)

// hasNamespace reports whether the kernel ends all of the command with its helper.
func (p *Process) hasNamespace() bool {
	return p.session.backend == Namespaces
}

// gone waits until the kernel has ended all processes of the command.
func (p *Process) gone() {
	poll := []unix.PollFd{{Fd: int32(p.pidfd.Fd()), Events: unix.POLLIN}}
	_ = retry(func() error { _, err := unix.Poll(poll, -1); return err })
	p.sending.Lock()
	p.pidfd.Close()
	p.socket.Close()
	p.sending.Unlock()
	p.stop()
}

// shutdown tells the other end that nothing more comes.
func shutdown(socket *os.File) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
}

func (p *Process) send(m wire.Message) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	return p.conn.Write(m)
}

// Wait waits until nothing of the command is left. The error says why it could
// not run to its end; what it returned itself is in the state.
func (p *Process) Wait() (State, error) {
	<-p.done
	return p.state, p.err
}

// Signal sends a signal to the command's process group.
func (p *Process) Signal(sig syscall.Signal) error {
	return p.send(wire.Message{Kind: wire.KindSignal, Signal: int(sig)})
}

// Kill ends the command and all that it has started.
func (p *Process) Kill() {
	p.sending.Lock()
	defer p.sending.Unlock()
	if !p.hasNamespace() {
		// Without a namespace of its own the helper ends what descends from
		// it, when it loses the worker. A command may have stopped it.
		_ = shutdown(p.socket)
		_ = unix.PidfdSendSignal(int(p.pidfd.Fd()), unix.SIGCONT, nil, 0)
		return
	}
	_ = unix.PidfdSendSignal(int(p.pidfd.Fd()), unix.SIGKILL, nil, 0)
}

// Plan returns what held the command.
func (p *Process) Plan() *Plan { return p.plan }

// Refused returns what the supervisor did not let the command do, after Wait:
// at most 50 refusals. What a mount refuses, it does not see.
func (p *Process) Refused() []Refusal {
	<-p.done
	return p.refused
}
