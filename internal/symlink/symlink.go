// Package symlink holds what every walk over a path with symbolic links has in
// common: which name comes next, and when there are too many links.
//
// It looks at no file system. The walks differ in what they do there: one keeps
// to a workspace, one goes on where nothing exists, one notes each folder.
package symlink

import (
	"errors"
	"path/filepath"
	"strings"
)

// MaxLinks is how many links one path may lead through, as in Linux.
const MaxLinks = 40

// ErrTooMany is returned where a path leads through more than [MaxLinks].
var ErrTooMany = errors.New("too many symlinks: they may form a circle")

// Path is the rest of a path that is walked name by name.
type Path struct {
	names []string
	links int
}

// Split returns a Path of the names in path. Neither a root nor a volume is part
// of them.
func Split(path string) *Path {
	return &Path{names: split(path[len(filepath.VolumeName(path)):])}
}

func split(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }

// Next returns the next name, which may be "..", and takes it off the path. Empty
// names and "." are left out. It returns false at the end.
func (p *Path) Next() (name string, ok bool) {
	for len(p.names) > 0 {
		name, p.names = p.names[0], p.names[1:]
		if name != "" && name != "." {
			return name, true
		}
	}
	return "", false
}

// Rest returns the names that are left.
func (p *Path) Rest() []string { return p.names }

// Follow puts the names in target before the rest of the path. target is where
// the last name, a link, leads. For an absolute target it returns the root to
// go on from; "" means the folder that holds the link.
func (p *Path) Follow(target string) (root string, err error) {
	if p.links++; p.links > MaxLinks {
		return "", ErrTooMany
	}
	volume := filepath.VolumeName(target)
	if filepath.IsAbs(target) {
		root = volume + string(filepath.Separator)
	}
	p.names = append(split(target[len(volume):]), p.names...)
	return root, nil
}
