package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

type shellExecArgs struct {
	Command        string `json:"command" jsonschema:"The command line, run by bash (or sh) in the folder of the workspace."`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty" jsonschema:"Stop the command after this many seconds, at most 3600. Default: 120."`
	Description    string `json:"description,omitempty" jsonschema:"What the command does, in five to ten words, for the people who are asked to approve it."`
}

// maxShellTimeout is the longest that a command may ask for.
const maxShellTimeout = time.Hour

func shellExec(ws *Workspace) Tool {
	return &function[shellExecArgs]{
		spec: Spec{
			Name: "shell_exec",
			Description: fmt.Sprintf("Runs a shell command in the workspace, and gives what it writes to stdout and stderr, and its exit status. "+
				"There is no terminal and stdin is empty, so nothing can ask back: pass flags such as --yes. "+
				"Each call is a new shell: cd and variables do not last. What it leaves running in the background is ended with it. "+
				"Output over %s is cut in the middle. Prefer read_file, edit_file, glob and grep to cat, sed, find and grep.",
				showSize(int64(ws.opts.MaxOutputBytes))),
			InputSchema:  schemaFor[shellExecArgs](),
			OwnTimeLimit: true,
		},
		values: func(a shellExecArgs) ([]permission.Value, error) {
			if strings.TrimSpace(a.Command) == "" {
				return nil, errors.New("shell_exec: command is empty")
			}
			return shell.Values(ws.rules, "shell_exec", a.Command)
		},
		run: func(ctx context.Context, _ *Call, a shellExecArgs) (Result, error) {
			return ws.shell(ctx, a)
		},
	}
}

// errTimeLimit is the cause with which a command's own time limit ends it.
var errTimeLimit = errors.New("the time limit of the command")

func (ws *Workspace) shell(ctx context.Context, a shellExecArgs) (Result, error) {
	switch {
	case strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0):
		return Result{}, errors.New("command is empty or contains a NUL character")
	case a.TimeoutSeconds < 0 || time.Duration(a.TimeoutSeconds) > maxShellTimeout/time.Second:
		return Result{}, fmt.Errorf("timeoutSeconds is %d, allowed are 1 to %d", a.TimeoutSeconds, maxShellTimeout/time.Second)
	case ws.opts.Shell == "":
		return Result{}, errors.New("neither bash nor sh is in PATH: install one of them")
	}
	limit := ws.opts.ShellTimeout
	if a.TimeoutSeconds > 0 {
		limit = time.Duration(a.TimeoutSeconds) * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeLimit)
	defer cancel()

	began := time.Now()
	out, err := ws.runShell(ctx, a.Command)
	took := time.Since(began)
	text, truncated := out.text()
	meta := map[string]any{"durationMs": took.Milliseconds()}
	failed := true
	exit, isExit := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		failed = false
		meta["exitStatus"] = 0
		text += "(exit status 0)"
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeLimit):
		text += fmt.Sprintf("(stopped after %s, the time limit; timeoutSeconds sets another, up to %d)", errtext.Duration(limit), maxShellTimeout/time.Second)
	case ctx.Err() != nil:
		text += fmt.Sprintf("(stopped after %s: %v)", took.Round(time.Millisecond), context.Cause(ctx))
	case isExit && exit.Exited():
		meta["exitStatus"] = exit.ExitCode()
		text += fmt.Sprintf("(exit status %d)", exit.ExitCode())
	case isExit:
		text += fmt.Sprintf("(ended by %s)", exit.ProcessState) // "signal: killed"
	default:
		return Result{}, err
	}
	return Result{Text: text, IsError: failed, Truncated: truncated, Meta: meta}, nil
}

// runShell runs a command and waits until nothing is left of it: when the shell
// has ended, by itself or with ctx, so do those that it left in the background.
// One that has left the process group (setsid, or set -m in the shell) is out of
// reach; its output is not waited for. What is within reach ends with this
// process too, should that be killed.
func (ws *Workspace) runShell(ctx context.Context, command string) (*headTail, error) {
	out := &headTail{limit: ws.opts.MaxOutputBytes}
	r, w, err := os.Pipe()
	if err != nil {
		return out, fmt.Errorf("running a command: %w", err)
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, ws.opts.Shell)
	cmd.Dir = ws.dir
	cmd.Env = ws.env
	// A file, not a writer: then Wait waits for the shell alone, and not for
	// everyone who holds the pipe.
	cmd.Stdout, cmd.Stderr = w, w
	cmd.WaitDelay = ws.opts.KillGrace
	ownGroup(cmd)
	release, err := watched(cmd, ws.opts.Shell, command)
	if err != nil {
		w.Close()
		return out, err
	}
	defer release()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return out, fmt.Errorf("running a command: %w", err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = out.ReadFrom(r) // it ends with the last writer, or the deadline
	}()
	err = cmd.Wait()
	killGroup(cmd)
	_ = r.SetReadDeadline(time.Now().Add(ws.opts.KillGrace))
	<-read
	return out, err
}

// secretEnds are the ends of the names of variables that commands do not get:
// so end those of keys and passwords.
var secretEnds = []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD"}

// shellEnv returns env without the worker's own settings, keys and passwords,
// for a command that runs in dir. Those that keep names stay.
func shellEnv(env, keep []string, dir string) []string {
	out := []string{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		upper := strings.ToUpper(name)
		if upper == "PWD" || strings.HasPrefix(upper, "WORKER_") {
			continue
		}
		secret := slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(upper, end) })
		if secret && !slices.Contains(keep, name) {
			continue
		}
		out = append(out, e)
	}
	return append(out, "PWD="+dir)
}
