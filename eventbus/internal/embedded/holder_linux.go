package embedded

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// state reports whether a process is stopped, and how it was called.
func state(pid int) (stopped bool, args []string) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The state follows the name, which may contain anything.
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 && len(stat) > i+2 {
		stopped = stat[i+2] == 'T' || stat[i+2] == 't'
	}
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if text := strings.TrimRight(string(line), "\x00"); text != "" {
		args = strings.Split(text, "\x00")
	}
	return stopped, args
}
