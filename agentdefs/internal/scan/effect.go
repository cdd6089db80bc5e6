package scan

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Effect says what a change on the disk means for what a scan found.
type Effect int

// The effects.
const (
	NoEffect  Effect = iota
	FileOnly         // an agent file may have changed, nothing else
	Structure        // a folder or symlink may lead elsewhere
)

// Effect returns what a change at path means; created says that something new is
// there. It looks at the disk only if that is in a folder whose subfolders are
// read.
func (s *Scan) Effect(path string, created bool) Effect {
	dir, name := filepath.Split(path)
	seen := s.dirs[filepath.Clean(dir)]
	if seen == nil {
		return NoEffect
	}
	isFile := slices.Contains(dialect.Suffixes, filepath.Ext(name))
	switch {
	case seen.names[name]:
		if isFile {
			return FileOnly
		}
		return Structure
	case !seen.listed || strings.HasPrefix(name, "."):
		return NoEffect
	case isFile:
		return FileOnly
	case !seen.nested:
		return NoEffect
	case s.dirs[path] != nil:
		return Structure
	case created:
		info, err := s.disk.Lstat(path)
		if disk.TimedOut(err) {
			return Structure
		}
		if err == nil && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0) {
			return Structure
		}
	}
	return NoEffect
}
