package fileinfo

import (
	"io/fs"
	"syscall"
	"time"
)

// Changed returns when the file, or what is known of it, last changed, as the kernel has
// noted it. Unlike the time of modification nobody can set it.
func Changed(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}
