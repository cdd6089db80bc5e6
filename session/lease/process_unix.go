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

// processGone reports whether no process has this number, or one that has ended
// and that nobody has waited for, or one that was started at another time; 0 means that
// is unknown. A process that can't be told is there.
func processGone(pid int, start uint64) bool {
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

// processStat returns the state of a process, and when it was started, on Linux
// alone: "PID (COMMAND) STATE …", proc_pid_stat(5).
func processStat(pid int) (state string, started uint64) {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", 0
	}
	started, _ = strconv.ParseUint(fields[19], 10, 64) // of 52 fields the 22nd
	return fields[0], started
}

// machine names what the number of a process means something in: the host since
// it was started and, on Linux, the namespace of numbers. Empty where the host
// has no name.
var machine = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	// Where they are not there, the host's name says enough.
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Join(strings.Fields(name+" "+string(boot)+" "+namespace), " ")
})
