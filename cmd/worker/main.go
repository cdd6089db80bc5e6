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

	p := &program{
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		environ:  os.Environ(),
		stdinTTY: term.IsTerminal(int(os.Stdin.Fd())),
		outTTY:   term.IsTerminal(int(os.Stdout.Fd())),
		errTTY:   term.IsTerminal(int(os.Stderr.Fd())),
	}
	return p.run(ctx, os.Args[1:])
}
