package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
	"github.com/agentworker/worker/tool/internal/allowance"
	"github.com/agentworker/worker/tool/internal/headtail"
)

type shellExecArgs struct {
	Command        string `json:"command" jsonschema:"The command line, run by bash (or sh) in the folder of the workspace."`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty" jsonschema:"Stop the command after this many seconds, at most 3600. Default: 120."`
	Description    string `json:"description,omitempty" jsonschema:"What the command does, in five to ten words, for the people who are asked to approve it."`
	Background     bool   `json:"background,omitempty" jsonschema:"true: the call returns at once with an id, and the command goes on, such as a server or a long build. It has no time limit unless timeoutSeconds sets one."`
	WaitSeconds    int    `json:"waitSeconds,omitempty" jsonschema:"With background: wait so long for its end, at most 600. A command that ends in time is as one without background; one that takes longer goes on. For a command that may take long."`
	TTY            bool   `json:"tty,omitempty" jsonschema:"true, with background: the command has a terminal, for a program that asks. shell_input types into it."`
	Notify         string `json:"notify,omitempty" jsonschema:"With background, a regular expression (RE2): between two steps you get a message with each line of the output that matches it, and one when the command ends."`
}

// maxShellTimeout is the longest that a command may ask for.
const maxShellTimeout = time.Hour

// shellTool is shell_exec.
type shellTool struct {
	function[shellExecArgs]
	ws *Workspace
}

var _ Sandboxed = (*shellTool)(nil)

// Held implements [Sandboxed].
func (t *shellTool) Held(sessionID string, rules *permission.Layers) (held bool, why string) {
	b, err := t.ws.boxes.of(sessionID, &t.ws.opts.Sandbox)
	if err != nil {
		return false, err.Error()
	}
	held, reasons, err := b.Holds(t.ws.SandboxProfile(rules, false))
	if err != nil {
		return false, err.Error()
	}
	return held, strings.Join(reasons, "; ")
}

// EndSession implements [Sandboxed].
func (t *shellTool) EndSession(sessionID string) error {
	t.ws.changes.Forget(sessionID)
	return t.ws.boxes.end(sessionID)
}

func shellExec(ws *Workspace, dir string) Tool {
	rules, begins := ws.rules, "the workspace"
	if dir != "" {
		rules.Dir, begins = filepath.Join(ws.files.Dir(), filepath.FromSlash(dir)), "the folder "+dir+" of the workspace"
	}
	return &shellTool{ws: ws, function: function[shellExecArgs]{
		spec: Spec{
			Name: toolcatalog.ShellExec,
			Description: fmt.Sprintf("Runs a shell command in %s, and gives what it writes to stdout and stderr, and its exit status. "+
				"There is no terminal and stdin is empty, so nothing can ask back: pass flags such as --yes. "+
				"Each call is a new shell: cd and variables do not last. What it leaves running is ended with it: "+
				"for a server or another command that is to go on, pass background: true. Later calls reach its ports on localhost. "+
				"It runs in a sandbox: files and hosts that the rules do not allow are out of its reach, /tmp is the session's own. "+
				"Output over %s is cut in the middle. Prefer read_file, edit_file, glob and grep to cat, sed, find and grep.",
				begins, showSize(int64(ws.opts.MaxOutputBytes))),
			InputSchema:  schemaFor[shellExecArgs](),
			OwnTimeLimit: true,
		},
		values: func(a shellExecArgs) ([]permission.Value, error) {
			if strings.TrimSpace(a.Command) == "" {
				return nil, errors.New("shell_exec: command is empty")
			}
			values, err := shell.Values(rules, toolcatalog.ShellExec, a.Command)
			return ws.withAgentFiles(values, nil), err
		},
		describe: func(call *Call, a shellExecArgs) Description { return ws.describeCommand(call, a, dir) },
		run: func(ctx context.Context, call *Call, a shellExecArgs) (Result, error) {
			return ws.shell(ctx, call, a, cmp.Or(rules.Dir, ws.files.Dir()))
		},
	}}
}

// errTimeLimit is the cause with which a command's own time limit ends it.
var errTimeLimit = errors.New("the time limit of the command")

// shell runs a command that begins in the folder dir.
func (ws *Workspace) shell(ctx context.Context, call *Call, a shellExecArgs, dir string) (Result, error) {
	switch {
	case strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0):
		return Result{}, errors.New("command is empty or contains a NUL character")
	case a.TimeoutSeconds < 0 || time.Duration(a.TimeoutSeconds) > maxShellTimeout/time.Second:
		return Result{}, fmt.Errorf("timeoutSeconds is %d, allowed are 1 to %d", a.TimeoutSeconds, maxShellTimeout/time.Second)
	case ws.opts.Shell == "":
		return Result{}, errors.New("neither bash nor sh is in PATH: install one of them")
	case call.Rules == nil:
		return Result{}, errors.New("there are no rules to run it by")
	case a.TTY && !a.Background:
		return Result{}, errors.New("tty is for commands with background: true")
	case a.WaitSeconds != 0 && !a.Background:
		return Result{}, errors.New("waitSeconds is for commands with background: true")
	case a.Notify != "" && !a.Background:
		return Result{}, errors.New("notify is for commands with background: true")
	}
	if a.Background {
		return background(ctx, ws, call, a, dir)
	}
	limit := ws.opts.ShellTimeout
	if a.TimeoutSeconds > 0 {
		limit = time.Duration(a.TimeoutSeconds) * time.Second
	}
	ctx, waits := allowance.New(ctx, limit, errTimeLimit)
	defer waits.End()
	b, err := ws.boxes.of(call.SessionID, &ws.opts.Sandbox)
	if err != nil {
		return Result{}, err
	}
	c := &command{ctx: ctx, ws: ws, dir: dir, call: call, args: &a, script: a.Command, out: &headtail.Buffer{Limit: ws.opts.MaxOutputBytes}}
	began := time.Now()
	if backend, _ := b.Backend(); backend == "" {
		err = c.runUnheld(b)
	} else {
		c.hosts = &boxCall{judge: call.Judge, waits: waits, allowed: make(map[string]bool)}
		c.leave = b.enter(c.hosts)
		err = c.runSandboxed(b, ws.SandboxProfile(call.Rules, call.Approved))
		if moved, ok := errors.AsType[*movedError](err); ok {
			return moved.result, nil
		}
		c.leave()
		c.refused = append(c.refused, c.hosts.refusals()...)
	}
	if moved, ok := errors.AsType[*movedError](err); ok {
		return moved.result, nil
	}
	took := time.Since(began)
	text, truncated := c.out.Text()
	text = headtail.Plain(text)
	meta := map[string]any{"durationMs": took.Milliseconds()}
	failed := true
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeLimit):
		text += fmt.Sprintf("(stopped after %s, the time limit; timeoutSeconds sets another, up to %d, and with background: true a command goes on while you do other work)", errtext.Duration(limit), maxShellTimeout/time.Second)
	case ctx.Err() != nil:
		text += fmt.Sprintf("(stopped after %s: %v)", took.Round(time.Millisecond), context.Cause(ctx))
	case err != nil:
		return Result{}, err
	case c.status >= 0:
		failed = c.status != 0
		meta["exitStatus"] = c.status
		text += fmt.Sprintf("(exit status %d)", c.status)
	default:
		text += fmt.Sprintf("(ended by %s)", c.ended) // "signal: killed"
	}
	if len(c.refused) > 0 {
		meta["refused"] = c.refused
		for _, r := range c.refused {
			text += fmt.Sprintf("\n(the sandbox refused to %s %s: %s)", r.Op, r.Path, r.Reason)
		}
	}
	return Result{Text: text, IsError: failed, Truncated: truncated, Meta: meta}, nil
}
