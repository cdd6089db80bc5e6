//go:build !unix

package main

import "syscall"

// There are none here.
const (
	stopSignal     = syscall.Signal(0)
	suspendSignal  = syscall.Signal(0)
	continueSignal = syscall.Signal(0)
)

func ofShell() *syscall.SysProcAttr { return nil }
