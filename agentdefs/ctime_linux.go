package agentdefs

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when a file's text or attributes changed last. Unlike its
// modification time nobody can set it back.
func changeTime(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return time.Time{}
}
