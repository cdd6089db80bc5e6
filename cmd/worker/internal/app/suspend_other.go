//go:build !unix

package app

import (
	"log/slog"

	"github.com/agentworker/worker/eventbus"
)

// handOverAtStops does nothing: this system stops no processes.
func handOverAtStops(*eventbus.Bus, *slog.Logger) (end func()) { return func() {} }
