//go:build !linux

package embedded

import (
	"os/exec"
	"strconv"
	"strings"

	"github.com/agentworker/worker/internal/ownpath"
)

// state reports whether a process is stopped, and how it was called, as far as the system's ps
// knows.
func state(pid int) (stopped bool, args []string) {
	path, err := ownpath.Look("ps")
	if err != nil {
		return false, nil
	}
	out, err := exec.Command(path, "-o", "state=,args=", "-p", strconv.Itoa(pid)).Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) == 0 {
		return false, nil
	}
	return strings.HasPrefix(fields[0], "T"), fields[1:]
}
