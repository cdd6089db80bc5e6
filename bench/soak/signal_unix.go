//go:build unix

package main

import "syscall"

const (
	stopSignal     = syscall.SIGSTOP
	suspendSignal  = syscall.SIGTSTP
	continueSignal = syscall.SIGCONT
)

// ofShell starts a process as a shell does, which can suspend it.
func ofShell() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
