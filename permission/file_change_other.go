//go:build !linux

package permission

import (
	"io/fs"
	"time"
)

// changeTime returns when the file was changed last.
func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }
