//go:build unix

package store

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
// and that nobody has waited for. One that can't be told is there.
func processGone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	// On Linux alone: "PID (COMMAND) STATE …", proc_pid_stat(5).
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	end := bytes.LastIndexByte(stat, ')')
	return end > 0 && bytes.HasPrefix(stat[end:], []byte(") Z"))
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
