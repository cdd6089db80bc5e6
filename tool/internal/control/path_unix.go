//go:build unix

package control

import (
	"errors"
	"syscall"
)

// isNoFolder reports whether a path goes on below a file.
func isNoFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
