//go:build !linux

package embedded

import (
	"os/exec"
	"strconv"
	"strings"
)

// state reports whether a process is stopped, and how it was called, as far as the system's ps
// knows.
func state(pid int) (stopped bool, args []string) {
	out, err := exec.Command("ps", "-o", "state=,args=", "-p", strconv.Itoa(pid)).Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) == 0 {
		return false, nil
	}
	return strings.HasPrefix(fields[0], "T"), fields[1:]
}
