//go:build !unix

package main

import "syscall"

// There are none here.
const (
	stopSignal     = syscall.Signal(0)
	continueSignal = syscall.Signal(0)
)
