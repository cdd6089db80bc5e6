// The program history measures what a store with much history costs: it makes one
// with the worker's own code, runs the worker's commands on it as processes, and
// prints how long each takes and how much memory.
//
//	go -C bench run ./soak/history -sessions 100000 -events 50
//
// It exits with 1 if a figure is above its bound.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"github.com/agentworker/worker/bench/binary"
)

// size is how much history a store has.
type size struct {
	sessions int // roots, and below each one child
	events   int // of each session, about
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var n size
	flag.IntVar(&n.sessions, "sessions", 10_000, "how many sessions")
	flag.IntVar(&n.events, "events", 50, "how many events each of them has, about")
	dir := flag.String("dir", "", "the folder of the store, which is made if it is not there, and kept (default: one that is removed)")
	worker := flag.String("worker", "", "the worker (default: it is built)")
	fill := flag.String("fill", "", "make the store in this folder, and nothing else")
	flag.Parse()
	if *fill != "" {
		return fillStore(ctx, *fill, n)
	}
	temp, err := os.MkdirTemp("", "history-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if *worker == "" {
		if *worker, err = binary.Build(ctx, temp); err != nil {
			return err
		}
	}
	if *dir == "" {
		*dir = filepath.Join(temp, "full")
	}
	for _, store := range []struct {
		dir string
		size
	}{{filepath.Join(temp, "empty"), size{0, n.events}}, {*dir, n}} {
		if _, err := os.Stat(filepath.Join(store.dir, "nats")); err == nil {
			continue
		}
		// A process of its own: what a child of a large process is told to have
		// used is at least what that one has.
		cmd := exec.CommandContext(ctx, os.Args[0], "-fill", store.dir, "-sessions", strconv.Itoa(store.sessions), "-events", strconv.Itoa(store.events))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("making the store: %w", err)
		}
		if store.sessions > 0 {
			select {
			case <-time.After(recent):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	m := &measurement{worker: *worker, work: temp, empty: filepath.Join(temp, "empty"), full: *dir, size: n}
	return m.run(ctx)
}
