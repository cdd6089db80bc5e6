package fileinfo

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ID names a file, whatever its name in a folder: no other file of its file system has
// the same, also after it is removed. Empty means that the system does not tell.
func ID(f *os.File) string {
	var s unix.Statx_t
	const want = unix.STATX_INO | unix.STATX_BTIME // the number by itself is given to the next file
	if unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, want, &s) != nil || s.Mask&want != want {
		return ""
	}
	return fmt.Sprintf("%x-%x-%x", s.Ino, s.Btime.Sec, s.Btime.Nsec)
}
