// Command worker turns a repository's Markdown agent files into a task tool.
// See the README for what it does, and "worker help" for how.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

func main() { os.Exit(run()) }

func run() int {
	// The first signal ends the work in order; a second one, once the handler
	// is gone, kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)

	out, errs := newTerminal(os.Stdout, os.Getenv), newTerminal(os.Stderr, os.Getenv)
	live := &screen{out: os.Stderr, redraws: errs.redraws, columns: errs.columns}
	p := &program{
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    live,
		environ:   os.Environ(),
		stdinTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		outTerm:   out,
		errTerm:   errs,
		live:      live,
		oneOutput: sameOutput(os.Stdout, os.Stderr),
	}
	if out.is() && errs.redraws {
		p.stdout = beside{live, os.Stdout}
	}
	return p.run(ctx, os.Args[1:])
}
