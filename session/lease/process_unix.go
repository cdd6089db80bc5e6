//go:build unix

package lease

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// processEnded reports whether the process with this number has ended. It has if there
// is no such process, if it is a zombie, or if another start time shows that the number
// was reused. A start of 0 is unknown. In doubt the process is considered alive.
func processEnded(pid int, start uint64) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	state, started := processStat(pid)
	return state == "Z" || start > 0 && started > 0 && started != start
}

// processStart returns when a process was started, in ticks since the machine was;
// 0 means unknown.
func processStart(pid int) uint64 {
	_, started := processStat(pid)
	return started
}

// processStat returns the state of a process and when it was started, only on Linux:
// "PID (COMMAND) STATE …", proc_pid_stat(5).
func processStat(pid int) (state string, started uint64) {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", 0
	}
	started, _ = strconv.ParseUint(fields[19], 10, 64) // of 52 fields the 22nd
	return fields[0], started
}

// machine names the scope of process numbers: the host since it was started and, on
// Linux, the PID namespace. It is empty if the host has no name.
var machine = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	// Without these files, the host's name must do.
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join(strings.Fields(name+" "+string(boot)+" "+namespace), " ")
})
