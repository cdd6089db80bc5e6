//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns how long this process has kept the processors busy.
func processorTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
