//go:build !linux

package rootfs

import "os"

// Open opens real, a file or a folder, for reading, beneath the workspace and without following
// a symbolic link.
func (f *Folder) Open(real string) (*os.File, error) { return f.openSlowly(real) }
