//go:build unix

package tool

import (
	"io/fs"
	"syscall"
)

// openNonblock keeps an open from waiting for the other end of a pipe.
const openNonblock = syscall.O_NONBLOCK

// fileID tells files apart, whatever their names.
type fileID struct{ device, inode uint64 }

// identify returns which file info is of, and how many names that has.
func identify(info fs.FileInfo) (id fileID, names uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(st.Dev), st.Ino}, uint64(st.Nlink)
	}
	return fileID{}, 1
}
