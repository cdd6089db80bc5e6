package disk

import (
	"io/fs"
	"os"
	"time"
)

// System is what the operating system offers for reading; tests replace some of
// it.
type System struct {
	Stat     func(path string) (fs.FileInfo, error)
	Lstat    func(path string) (fs.FileInfo, error)
	Readlink func(path string) (string, error)
	ReadDir  func(path string) ([]fs.DirEntry, error)
	ReadFile func(path string) (Content, error)
	Network  func(dir string) string // the kind of a network file system; empty means it is local
	Timeout  time.Duration           // for each call
}

// Complete returns s with the functions of the operating system where it has
// none.
func (s System) Complete() System {
	if s.Stat == nil {
		s.Stat = os.Stat
	}
	if s.Lstat == nil {
		s.Lstat = os.Lstat
	}
	if s.Readlink == nil {
		s.Readlink = os.Readlink
	}
	if s.ReadDir == nil {
		s.ReadDir = os.ReadDir
	}
	if s.ReadFile == nil {
		s.ReadFile = ReadRegular
	}
	if s.Network == nil {
		s.Network = networkFS
	}
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	return s
}
