package permission

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime returns when the file was changed last: its text, its name or its
// time of modification, which anyone may set back.
func changeTime(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(stat.Ctim.Sec), int64(stat.Ctim.Nsec))
	}
	return info.ModTime()
}
