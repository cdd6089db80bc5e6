//go:build unix

package rootfs

import (
	"io/fs"
	"syscall"
)

// openNonblock keeps an open from waiting for the other end of a pipe.
const openNonblock = syscall.O_NONBLOCK

// FileID tells files apart, whatever their names are.
type FileID struct{ device, inode uint64 }

// Identify returns the id of a file, and how many names the file has.
func Identify(info fs.FileInfo) (id FileID, names uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return FileID{uint64(st.Dev), st.Ino}, uint64(st.Nlink)
	}
	return FileID{}, 1
}
