// Command worker turns a repository's Markdown agent files into a task tool.
// See the README for what it does, and "worker help" for how.
//
// The package wires the others and decides nothing. It has more files than other
// packages because each command is one; rootCommand has the tree of them, and
// program what they share. How things are shown, and what a user can set, is in
// the packages below internal.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/agentworker/worker/cmd/worker/internal/exit"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
)

func main() { os.Exit(run()) }

func run() int {
	if err := closeMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "worker: keeping others from this process's memory:", err)
		return int(exit.Failed)
	}
	// The first signal ends the work in order; a second one, once the handler
	// is gone, kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)

	out, errs := terminal.Of(os.Stdout, os.Getenv), terminal.Of(os.Stderr, os.Getenv)
	live := terminal.NewScreen(os.Stderr, errs)
	p := &program{
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    live,
		environ:   os.Environ(),
		stdinTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		outTerm:   out,
		errTerm:   errs,
		live:      live,
		oneOutput: terminal.Same(os.Stdout, os.Stderr),
	}
	if out.IsTerminal() && errs.Redraws {
		p.stdout = live.Beside(os.Stdout)
	}
	return p.run(ctx, os.Args[1:])
}
