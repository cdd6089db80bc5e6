package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// holder is the process that holds the lock of a folder, as far as that is known.
type holder struct {
	pid     int    // 0 means unknown
	command string // its program and first argument; empty means unknown
	stopped bool   // as by Ctrl-Z: it holds the lock, and does nothing
}

// lockHolder returns the process that holds the lock of dir.
func lockHolder(dir string) holder {
	data, err := os.ReadFile(filepath.Join(dir, pidFile))
	if err != nil {
		return holder{}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid <= 0 {
		return holder{}
	}
	h := holder{pid: pid}
	var args []string
	h.stopped, args = state(pid)
	if len(args) > 0 {
		args[0] = filepath.Base(args[0])
		h.command = strings.Join(args[:min(2, len(args))], " ") // the others may be long, or private
	}
	return h
}

func (h holder) String() string {
	switch {
	case h.pid == 0:
		return "another process"
	case h.command == "":
		return fmt.Sprintf("process %d", h.pid)
	default:
		return fmt.Sprintf("process %d (%s)", h.pid, h.command)
	}
}

// advice says what to do about a holder that is stopped.
func (h holder) advice() string {
	return fmt.Sprintf("continue it with fg or 'kill -CONT %d', or end it with 'kill -KILL %d'", h.pid, h.pid)
}
