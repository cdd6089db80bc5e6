package disk

import (
	"io/fs"
	"syscall"
	"time"
)

// ChangeTime returns when a file's text or attributes changed last. Unlike the
// modification time it cannot be set back.
func ChangeTime(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return time.Time{}
}
