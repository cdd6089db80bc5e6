//go:build !unix

package policy

import (
	"fmt"
	"io/fs"
)

// trusted refuses each file: this system does not say which users may write it.
func trusted(path string, _ bool) error {
	return fmt.Errorf("%s: policies can't be used on this system, since who may write them can't be found out: remove it", path)
}

func checkOwner(path string, _ fs.FileInfo, own bool) error { return trusted(path, own) }
