//go:build unix

package app

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus"
)

const (
	// handOverTime is how long handing the store over may keep a process from being
	// stopped: closing it takes milliseconds.
	handOverTime = 5 * time.Second

	// stopTime is how long a process waits for its stop to begin. The system does not stop
	// a process that no shell could continue.
	stopTime = time.Second
)

// handOverAtStops hands the store over before Ctrl-Z (SIGTSTP) stops the process, and joins
// again when it is continued. That lasts until end is called.
func handOverAtStops(bus *eventbus.Bus, live *terminal.Screen, log *slog.Logger) (end func()) {
	if signal.Ignored(syscall.SIGTSTP) || !bus.Health().Embedded {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTSTP)
	go func() {
		defer close(done)
		for {
			select {
			case <-stops:
				stopWithoutStore(ctx, bus, live, log)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
		signal.Stop(stops)
	}
}

// stopWithoutStore hands the store over, stops the process as the signal would have
// done, and returns when it has been continued.
func stopWithoutStore(ctx context.Context, bus *eventbus.Bus, live *terminal.Screen, log *slog.Logger) {
	if live != nil { // the shell's output must not mix with live lines
		live.Hide()
		defer live.Unhide()
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	bounded, cancel := context.WithTimeout(ctx, handOverTime)
	if err := bus.Store().Suspend(bounded); err != nil && ctx.Err() == nil {
		log.Warn("handing the event store over before the stop", "err", err)
	}
	cancel()
	defer bus.Store().Resume()
	select {
	case <-continued: // before it was stopped
		return
	default:
	}
	// Go's handler of SIGTSTP can't be removed again. This signal stops in the same way,
	// where a shell can continue the process, and nowhere else.
	if err := syscall.Kill(os.Getpid(), syscall.SIGTTOU); err != nil {
		log.Warn("stopping this process", "err", err)
		return
	}
	select {
	case <-continued:
	case <-time.After(stopTime):
	case <-ctx.Done():
	}
}
