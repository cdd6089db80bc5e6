package commands

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// command is a command in the background.
type command struct {
	info    Info
	log     *outputLog
	done    chan struct{} // closed when nothing of it runs
	stopped chan struct{} // closed when it is to end
	moved   bool          // a call has waited for it, so that it has no input
	typed   chan struct{} // has a value once there was input

	// Set before anybody but its starter knows it.
	running tool.Running
	input   *os.File // what is written there, it reads
	output  *os.File
	copied  chan struct{} // closed when all output is in the log
	began   time.Time
	writing sync.Mutex // of its input

	mu       sync.Mutex
	by       string // the reason why it was stopped; empty means it was not
	known    bool   // its model knows of its end
	ended    End
	isOver   bool
	refusals []sandbox.Refusal
	read     int64 // up to where its output was read
}

// start starts the command.
func (c *command) start(b *tool.BackgroundCommand) error {
	theirs, err := c.open(b.Terminal)
	if err != nil {
		return fmt.Errorf("starting a command in the background: %w", err)
	}
	c.began = time.Now()
	c.running, err = b.Start(theirs)
	for _, f := range []*os.File{theirs[0], theirs[1]} {
		f.Close() // twice, if they are one terminal
	}
	if err != nil {
		c.input.Close()
		c.output.Close()
		return err
	}
	c.copied = make(chan struct{})
	go func() {
		defer close(c.copied)
		_, _ = c.log.ReadFrom(c.output) // it ends with the last writer, or the deadline
	}()
	return nil
}

// open makes the ends of the command's input and output. Theirs are its stdin, stdout and stderr.
func (c *command) open(terminal bool) (theirs [3]*os.File, err error) {
	if terminal {
		ours, its, err := openTerminal()
		c.input, c.output = ours, ours
		return [3]*os.File{its, its, its}, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return theirs, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return theirs, err
	}
	c.input, c.output = inW, outR
	return [3]*os.File{inR, outW, outW}, nil
}

// wait waits until nothing of the command runs. When it is stopped, or a limit that is not 0 has
// passed, it is asked to end, and ended after the grace.
func (c *command) wait(limit time.Duration) {
	var over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	gone, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-gone:
			return
		case <-c.stopped:
		case <-over:
			c.stop("its time limit of "+errtext.Duration(limit), false)
		}
		_ = c.running.Signal(syscall.SIGTERM)
		if c.info.Terminal {
			_ = c.running.Signal(syscall.SIGHUP) // interactive shells take no SIGTERM
		}
		grace := time.NewTimer(killGrace)
		defer grace.Stop()
		select {
		case <-gone:
		case <-grace.C:
			c.running.Kill()
		}
	}()
	status, signal := c.running.Wait()
	close(gone)
	<-watched
	_ = c.output.SetReadDeadline(time.Now().Add(killGrace)) // what has left the command may hold the pipe
	<-c.copied
	c.input.Close()
	c.output.Close()
	c.finish(status, signal)
}

// finish notes how the command has ended.
func (c *command) finish(status int, signal string) {
	total, _ := c.log.size()
	text := c.tail(total)
	c.mu.Lock()
	c.ended = End{Status: status, Signal: signal, Stopped: c.by, Bytes: total, Duration: time.Since(c.began)}
	c.refusals = c.running.Explain(text)
	c.isOver = true
	c.mu.Unlock()
	close(c.done)
}

// maxExplained is how much of the end of an output is looked at for what the sandbox has refused.
const maxExplained = 64 << 10

// tail returns the end of an output.
func (c *command) tail(total int64) string {
	before, after, _, err := c.log.read(span{total - maxExplained, total})
	if err != nil {
		return ""
	}
	return string(before) + string(after)
}

// stop has the command end. The first one who stops it is named. known says that no notice has to
// tell the model of it.
func (c *command) stop(by string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = c.known || known
	if c.by == "" && !c.isOver {
		c.by = by
		close(c.stopped)
	}
}

// over reports whether nothing of the command runs.
func (c *command) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// state is what a command is now.
type state struct {
	over     bool
	known    bool
	end      End
	refusals []sandbox.Refusal
	began    time.Time
}

func (c *command) state() state {
	c.mu.Lock()
	defer c.mu.Unlock()
	return state{c.isOver, c.known, c.ended, c.refusals, c.began}
}

// from returns where the next reading begins, and setRead notes up to where one has come.
func (c *command) from() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read
}

func (c *command) setRead(to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = to
}
