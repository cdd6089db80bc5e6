package main

import (
	"os"
	"syscall"
)

// peak returns the most memory that an ended process had, in bytes.
func peak(state *os.ProcessState) int64 { return state.SysUsage().(*syscall.Rusage).Maxrss << 10 }
