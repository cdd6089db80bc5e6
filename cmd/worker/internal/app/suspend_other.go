//go:build !unix

package app

import (
	"log/slog"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus"
)

// handOverAtStops does nothing: this system stops no processes.
func handOverAtStops(*eventbus.Bus, *terminal.Screen, *slog.Logger) (end func()) { return func() {} }
