package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/headtail"
	"github.com/agentworker/worker/tool/internal/stdio"
)

// command is a command of the shell that runs.
type command struct {
	ctx    context.Context
	ws     *Workspace
	dir    string // in which it begins
	call   *Call
	args   *shellExecArgs
	script string
	out    *headtail.Buffer
	hosts  *boxCall // what it may reach; nil means that no sandbox holds it
	leave  func()   // ends that

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
	proc, err := c.supervise(b, b.Start, &sandbox.Command{Dir: c.dir, Profile: profile, Env: c.ws.env, Settle: func(after time.Time) {
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
	_, err := c.supervise(b, b.StartUnheld, &sandbox.Command{Dir: c.dir, Env: plainEnv(c.ws.env, c.ws.opts.Env)})
	if errors.Is(err, sandbox.ErrNotHeld) {
		return c.runPlain() // on this system nobody ends what a command starts
	}
	return err
}

// supervise starts the command by start, and waits until nothing is left of it. The error is a
// [*movedError] if it goes on in the background.
func (c *command) supervise(b *box, start func(context.Context, *sandbox.Command) (*sandbox.Process, error), cmd *sandbox.Command) (*sandbox.Process, error) {
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
	w := &waited{command: c, box: b, proc: proc, profile: cmd.Profile, rd: rd, ended: make(chan struct{}), handed: make(chan struct{})}
	var watching sync.WaitGroup
	watching.Go(w.watch)
	go w.wait()
	leave := func() {}
	if c.call.Background != nil {
		leave = c.call.Background.Foreground(c.call.ID, w.move)
	}
	select {
	case <-w.ended:
	case <-w.handed:
	}
	leave()
	watching.Wait()
	if result := w.settle(); result != nil {
		return nil, &movedError{*result}
	}
	state, err := w.state, w.err
	rd.finish(c.ws.opts.KillGrace)
	if err != nil && c.ctx.Err() == nil {
		return nil, fmt.Errorf("running a command: %w", err)
	}
	if c.status = state.ExitCode(); c.status < 0 {
		c.ended = state.String()
	}
	return proc, nil
}

// waited is a command that a call waits for.
type waited struct {
	*command
	box     *box
	proc    *sandbox.Process
	profile *sandbox.Profile
	rd      *reader

	ended  chan struct{} // closed when nothing of it runs
	handed chan struct{} // closed when it goes on in the background

	// Once it has ended.
	state sandbox.State
	err   error

	mu     sync.Mutex
	over   bool    // it is asked to end, or has: it is not moved any more
	result *Result // of the call, once the command goes on in the background
}

func (w *waited) wait() {
	w.state, w.err = w.proc.Wait()
	close(w.ended)
}

// watch has the command end with the context of its call: it is asked to first, and ended after the
// grace.
func (w *waited) watch() {
	select {
	case <-w.ended:
		return
	case <-w.handed:
		return
	case <-w.ctx.Done():
	}
	if w.settle() != nil {
		return
	}
	_ = w.proc.Signal(syscall.SIGTERM)
	grace := time.NewTimer(w.ws.opts.KillGrace)
	defer grace.Stop()
	select {
	case <-w.ended:
	case <-grace.C:
		w.proc.Kill()
	}
}

// settle has the command stay in the foreground. It returns the result of the call if it has left that
// already.
func (w *waited) settle() *Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	return w.result
}

// movedError is the error of a command that goes on in the background.
type movedError struct{ result Result }

func (*movedError) Error() string { return "the command goes on in the background" }

// move has the command go on in the background, and the call return.
func (w *waited) move(by string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.result != nil {
		return errors.New("the command has ended, or is about to")
	}
	if w.hosts != nil && !w.hosts.asking.TryLock() {
		return errors.New("the command waits for the answer to a question: answer it first")
	}
	result, err := w.call.Background.Start(w.ctx, &BackgroundCommand{
		CallID: w.call.ID, Line: w.script, TimeLimit: time.Duration(w.args.TimeoutSeconds) * time.Second,
		MovedBy: by, LogDir: w.ws.opts.Sandbox.Dir, Start: w.handOver,
	})
	if w.hosts != nil {
		w.hosts.asking.Unlock()
	}
	if err != nil {
		return err
	}
	w.result = &result
	close(w.handed)
	return nil
}

// handOver has the command write where those in the background do.
func (w *waited) handOver(files [3]*os.File) (Running, error) {
	out, err := stdio.Duplicate(files[1])
	if err != nil {
		return nil, err
	}
	r := &movedRunning{waited: w, out: out}
	r.call = w.hosts
	if r.call == nil {
		r.call = &boxCall{allowed: make(map[string]bool)}
	} else {
		w.leave()
	}
	r.call.waits = nil
	r.call.judge = func(ctx context.Context, value permission.Value) error {
		return w.call.Background.Judge(ctx, w.call.ID, value)
	}
	r.leave = w.box.enter(r.call)
	r.heldRunning.Process, r.heldRunning.profile = w.proc, w.profile
	r.writing.Go(func() { _ = w.out.Redirect(r.out) })
	return r, nil
}

// movedRunning is a command that a call has waited for.
type movedRunning struct {
	heldRunning
	*waited
	out     *os.File // where it writes to
	writing sync.WaitGroup
}

// Wait implements [Running].
func (r *movedRunning) Wait() (status int, signal string) {
	defer r.leave()
	<-r.ended
	r.rd.finish(r.ws.opts.KillGrace)
	r.writing.Wait()
	r.out.Close()
	return outcome(r.state, r.err)
}

// Background keeps the commands of a session that go on when the call has returned that has
// started them.
type Background interface {
	// Start starts a command, and returns what the model reads of it. ctx bounds only how long it
	// waits for the end.
	Start(ctx context.Context, c *BackgroundCommand) (Result, error)

	// Foreground notes that a call waits for its command. move moves the command to the background;
	// by names the person. leave is called once the call waits no longer.
	Foreground(callID string, move func(by string) error) (leave func())

	// Judge is [Call.Judge] while no call runs: nobody is asked.
	Judge(ctx context.Context, callID string, value permission.Value) error
}

// BackgroundCommand is a command that goes on.
type BackgroundCommand struct {
	CallID      string // of the call that starts it
	Line        string
	Terminal    bool          // its input and output are one
	TimeLimit   time.Duration // 0 means none
	WaitSeconds int           // for its end
	Notify      string        // a regular expression: the session hears of lines that match; empty means of none
	MovedBy     string        // the person who has moved it there; empty means that it begins there
	LogDir      string        // the folder for what it writes; "" means the system's for temporary files

	// Start starts it with a stdin, a stdout and a stderr.
	Start func(stdio [3]*os.File) (Running, error)
}

// Running is a command that goes on.
type Running interface {
	// Wait waits until nothing of the command runs. The status is -1 if a signal has ended it,
	// which signal says.
	Wait() (status int, signal string)

	Signal(sig syscall.Signal) error // to its process group
	Kill()                           // ends all that it has started

	// Explain returns what the sandbox has refused, as the end of the output and the sandbox
	// itself tell, once it has ended.
	Explain(output string) []sandbox.Refusal
}

// background starts a command that goes on, and begins in the folder dir.
func background(ctx context.Context, ws *Workspace, call *Call, a shellExecArgs, dir string) (Result, error) {
	if call.Background == nil {
		return Result{}, errors.New("no command can go on in the background here: run it without background")
	}
	b, err := ws.boxes.of(call.SessionID, &ws.opts.Sandbox)
	if err != nil {
		return Result{}, err
	}
	profile := ws.SandboxProfile(call.Rules, call.Approved)
	running := &boxCall{allowed: make(map[string]bool), judge: func(ctx context.Context, value permission.Value) error {
		return call.Background.Judge(ctx, call.ID, value)
	}}
	return call.Background.Start(ctx, &BackgroundCommand{
		CallID: call.ID, Line: a.Command, Terminal: a.TTY, TimeLimit: time.Duration(a.TimeoutSeconds) * time.Second, WaitSeconds: a.WaitSeconds, Notify: a.Notify, LogDir: ws.opts.Sandbox.Dir,
		Start: func(stdio [3]*os.File) (Running, error) {
			cmd := &sandbox.Command{
				Args: []string{ws.opts.Shell, "-c", "--", a.Command}, Dir: dir, Env: ws.env, Profile: profile,
				Stdin: stdio[0], Stdout: stdio[1], Stderr: stdio[2], Terminal: a.TTY,
				Settle: func(after time.Time) { _ = worktree.RewriteIndex(context.Background(), ws.files.Dir(), after) },
			}
			start := b.Start
			if backend, _ := b.Backend(); backend == "" {
				start, cmd.Env, cmd.Profile = b.StartUnheld, plainEnv(ws.env, ws.opts.Env), nil
			}
			leave := b.enter(running)
			proc, err := start(context.Background(), cmd)
			switch {
			case err == nil:
				return &heldRunning{Process: proc, profile: cmd.Profile, call: running, leave: leave}, nil
			case errors.Is(err, sandbox.ErrNotHeld):
				leave()
				return startPlain(ws, cmd)
			}
			leave()
			return nil, fmt.Errorf("running a command: %w", err)
		},
	})
}

// heldRunning is a command that goes on and ends with its session's sandbox.
type heldRunning struct {
	*sandbox.Process
	profile *sandbox.Profile // nil means that no sandbox holds it
	call    *boxCall
	leave   func()
}

// Wait implements [Running].
func (r *heldRunning) Wait() (status int, signal string) {
	defer r.leave()
	return outcome(r.Process.Wait())
}

func outcome(state sandbox.State, err error) (status int, signal string) {
	if err != nil {
		return -1, err.Error()
	}
	if status = state.ExitCode(); status < 0 {
		signal = state.String()
	}
	return status, signal
}

// Explain implements [Running].
func (r *heldRunning) Explain(output string) (refused []sandbox.Refusal) {
	if r.profile == nil {
		return nil
	}
	for _, e := range r.Process.Explain(output) {
		e.Path = r.profile.Shown(e.Path)
		refused = append(refused, e)
	}
	return append(refused, r.call.refusals()...)
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
