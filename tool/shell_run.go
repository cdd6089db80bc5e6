package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/headtail"
)

// command is a command of the shell that runs.
type command struct {
	ctx    context.Context
	ws     *Workspace
	dir    string // in which it begins
	script string
	out    *headtail.Buffer

	// Once it has ended.
	status  int    // exit status; -1: a signal ended it
	ended   string // by which signal
	refused []sandbox.Refusal
}

// reader reads the output until nobody writes any more, or KillGrace after
// the shell has ended: then a process that has left it may hold the pipe.
type reader struct {
	r, w *os.File
	done chan struct{}
}

func (c *command) read() (*reader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("running a command: %w", err)
	}
	rd := &reader{r: r, w: w, done: make(chan struct{})}
	go func() {
		defer close(rd.done)
		_, _ = c.out.ReadFrom(r) // it ends with the last writer, or the deadline
	}()
	return rd, nil
}

// started closes this process's end for writing.
func (rd *reader) started() { rd.w.Close() }

func (rd *reader) finish(grace time.Duration) {
	_ = rd.r.SetReadDeadline(time.Now().Add(grace))
	<-rd.done
	rd.r.Close()
}

// runSandboxed runs the command in a session's sandbox, and waits until
// nothing is left of it.
func (c *command) runSandboxed(b *box, profile *sandbox.Profile) error {
	proc, err := c.supervise(b.Start, &sandbox.Command{Dir: c.dir, Profile: profile, Env: c.ws.env, Settle: func(after time.Time) {
		_ = worktree.RewriteIndex(c.ctx, c.ws.files.Dir(), after) // without it git may take a hidden file for changed
	}})
	if err != nil {
		return err
	}
	text, _ := c.out.Text()
	for _, r := range proc.Explain(text) {
		r.Path = profile.Shown(r.Path)
		c.refused = append(c.refused, r)
	}
	return nil
}

// runUnheld runs the command without a sandbox, and waits until nothing is left
// of it.
func (c *command) runUnheld(b *box) error {
	_, err := c.supervise(b.StartUnheld, &sandbox.Command{Dir: c.dir, Env: plainEnv(c.ws.env, c.ws.opts.Env)})
	if errors.Is(err, sandbox.ErrNotHeld) {
		return c.runPlain() // on this system nobody ends what a command starts
	}
	return err
}

// supervise starts the command by start, and waits until nothing is left of it.
func (c *command) supervise(start func(context.Context, *sandbox.Command) (*sandbox.Process, error), cmd *sandbox.Command) (*sandbox.Process, error) {
	rd, err := c.read()
	if err != nil {
		return nil, err
	}
	cmd.Args, cmd.Stdout, cmd.Stderr = []string{c.ws.opts.Shell, "-c", "--", c.script}, rd.w, rd.w
	proc, err := start(context.WithoutCancel(c.ctx), cmd)
	rd.started()
	if err != nil {
		rd.finish(0)
		return nil, fmt.Errorf("running a command: %w", err)
	}
	// It is asked to end first, and ended after the grace.
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ended:
			return
		case <-c.ctx.Done():
			_ = proc.Signal(syscall.SIGTERM)
		}
		grace := time.NewTimer(c.ws.opts.KillGrace)
		defer grace.Stop()
		select {
		case <-ended:
		case <-grace.C:
			proc.Kill()
		}
	}()
	state, err := proc.Wait()
	close(ended)
	<-watched
	rd.finish(c.ws.opts.KillGrace)
	if err != nil && c.ctx.Err() == nil {
		return nil, fmt.Errorf("running a command: %w", err)
	}
	if c.status = state.ExitCode(); c.status < 0 {
		c.ended = state.String()
	}
	return proc, nil
}

// plainEnv is env for a command without a sandbox, which shares /tmp with everybody:
// TMPDIR is as it was.
func plainEnv(env, original []string) []string {
	out := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, "TMPDIR=") {
			out = append(out, e)
		}
	}
	for _, e := range original {
		if strings.HasPrefix(e, "TMPDIR=") {
			out = append(out, e)
		}
	}
	return out
}
