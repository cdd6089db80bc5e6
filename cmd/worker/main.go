// Command worker turns a repository's Markdown agent files into a task tool.
// See the README for what it does, and "worker help" for how.
//
// The package wires the others and decides nothing. rootCommand has the tree of commands. A
// command is a file here, or in the package of its group below internal. Package app there
// is what they share.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
)

func main() { os.Exit(execute()) }

func execute() int {
	if err := closeMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "worker: keeping others from this process's memory:", err)
		return int(cli.Failed)
	}
	signalled, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	out, errs := terminal.Of(os.Stdout, os.Getenv), terminal.Of(os.Stderr, os.Getenv)
	live := terminal.NewScreen(os.Stderr, errs)
	p := &program{&app.Program{Environ: os.Environ(), Console: app.Console{
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    live,
		StdinTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerm:   out,
		ErrTerm:   errs,
		Live:      live,
		OneOutput: terminal.Same(os.Stdout, os.Stderr),
	}}}
	if out.IsTerminal() && errs.Redraws {
		p.Stdout = live.Share(os.Stdout)
	}
	context.AfterFunc(signalled, func() { // the first signal ends the work in order
		second := make(chan os.Signal, 1)
		signal.Notify(second, endings()...)
		end(context.Cause(signalled))
		for by := range second {
			if !p.Patient.Load() {
				os.Exit(killed(by))
			}
		}
	})
	return p.run(ctx, os.Args[1:])
}

// killed is the exit status of a worker that a second signal has ended at once. It is not left
// to the system to do so, which ignores SIGINT in what a shell has started in the background.
func killed(by os.Signal) int {
	if n, ok := by.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return int(cli.Failed)
}

// endings are the signals that end the work. SIGHUP is none of them where it was
// ignored before the start, as by nohup.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}
