//go:build !linux

package tool

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/agentworker/worker/internal/procgroup"
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
	err = cmd.Start()
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
