// Package fileinfo tells by what the system says of a file whether it has changed.
package fileinfo

import (
	"io/fs"
	"os"
)

// Same reports whether two looks found the same file, not written since, with the same
// mode; nil means that a look found none. A change within one tick of the file system's
// clock is not seen: see [Changed] for how old the last one is.
func Same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.Mode() == b.Mode() && a.ModTime().Equal(b.ModTime()) && Changed(a).Equal(Changed(b))
}
