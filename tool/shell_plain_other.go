//go:build !linux

package tool

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/agentworker/worker/internal/procgroup"
	"github.com/agentworker/worker/sandbox"
)

// runPlain runs the command without a sandbox, and waits until nothing of it is left.
// When the shell has ended, by itself or with ctx, its background processes are ended
// too. One that has left the process group (setsid, or set -m in the shell) is out of
// reach; its output is not waited for. What is within reach ends with this process too,
// should that be killed.
func (c *command) runPlain() error {
	rd, err := c.read()
	if err != nil {
		return err
	}
	defer rd.finish(c.ws.opts.KillGrace)
	cmd := exec.CommandContext(c.ctx, c.ws.opts.Shell)
	cmd.Dir, cmd.Env = c.dir, plainEnv(c.ws.env, c.ws.opts.Env)
	// A file, not a writer: then Wait waits only for the shell, not for every holder of
	// the pipe.
	cmd.Stdout, cmd.Stderr = rd.w, rd.w
	cmd.WaitDelay = c.ws.opts.KillGrace
	procgroup.Own(cmd, syscall.SIGTERM)
	release, err := watched(cmd, c.ws.opts.Shell, c.script)
	if err != nil {
		rd.started()
		return err
	}
	defer release()
	err = procgroup.Start(cmd)
	rd.started()
	if err != nil {
		return fmt.Errorf("running a command: %w", err)
	}
	err = cmd.Wait()
	procgroup.Kill(cmd)
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case isExit && exit.Exited():
		c.status = exit.ExitCode()
	case isExit:
		c.status, c.ended = -1, exit.String()
	case err != nil && c.ctx.Err() == nil:
		return fmt.Errorf("running a command: %w", err)
	}
	return nil
}

// plainRunning is a command that goes on without a sandbox. What has left its process group is out
// of reach.
type plainRunning struct {
	cmd     *exec.Cmd
	release func()
}

// startPlain starts a command that goes on without a sandbox.
func startPlain(ws *Workspace, c *sandbox.Command) (Running, error) {
	cmd := exec.Command(ws.opts.Shell)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	procgroup.Own(cmd, syscall.SIGTERM)
	if c.Terminal {
		procgroup.Control(cmd)
	}
	release, err := watched(cmd, ws.opts.Shell, c.Args[len(c.Args)-1])
	if err != nil {
		return nil, err
	}
	if err := procgroup.Start(cmd); err != nil {
		release()
		return nil, fmt.Errorf("running a command: %w", err)
	}
	return &plainRunning{cmd, release}, nil
}

// Wait implements [Running].
func (r *plainRunning) Wait() (status int, signal string) {
	defer r.release()
	err := r.cmd.Wait()
	procgroup.Kill(r.cmd)
	switch state := r.cmd.ProcessState; {
	case state == nil:
		return -1, err.Error()
	case state.Exited():
		return state.ExitCode(), ""
	default:
		return -1, state.String()
	}
}

// Signal implements [Running].
func (r *plainRunning) Signal(sig syscall.Signal) error { return procgroup.Signal(r.cmd, sig) }

// Kill implements [Running].
func (r *plainRunning) Kill() { procgroup.Kill(r.cmd) }

// Explain implements [Running]: no sandbox has refused anything.
func (*plainRunning) Explain(string) []sandbox.Refusal { return nil }
