package control

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentworker/worker/internal/symlink"
)

// linked follows links: a file that is read by one name is protected by its others.
type linked struct {
	found *Found
	root  string
	seen  map[string]bool
	left  int // names that may be looked at
}

// follow returns path, the links on the way to it, where it leads, there or not, and all that links
// below that lead to.
func (l *linked) follow(path string) []string {
	out := []string{path}
	queue := []string{path}
	for len(queue) > 0 && l.left >= 0 {
		next := queue[0]
		queue = queue[1:]
		if l.seen[next] {
			continue
		}
		l.seen[next] = true
		via, real, err := resolve(next)
		out = append(out, via...)
		if err != nil {
			if errors.Is(err, symlink.ErrTooMany) {
				continue // it leads nowhere
			}
			l.found.close(next, "what it leads to can't be looked at: "+err.Error())
			continue
		}
		out = append(out, real)
		_ = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
			if l.left--; l.left < 0 {
				return filepath.SkipAll
			}
			if err != nil && !os.IsNotExist(err) && path != real {
				l.found.close(path, "it can't be looked at, and agents may be read from it")
			}
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				queue = append(queue, path)
			}
			return nil
		})
	}
	return out
}

// resolve returns the links on the way along path, and where it leads, whether that is there or not.
// via also has what is not there and is left by "..": a link that came there would lead elsewhere.
func resolve(path string) (via []string, real string, err error) {
	at := filepath.VolumeName(path) + string(filepath.Separator)
	missing := false // there is no at
	rest := symlink.Split(path)
	for name, ok := rest.Next(); ok; name, ok = rest.Next() {
		if name == ".." {
			if missing {
				via = append(via, at)
			}
			at = filepath.Dir(at)
			_, err := os.Lstat(at)
			missing = err != nil
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil && !os.IsNotExist(err) && !isNoFolder(err):
			return via, "", err
		case err != nil || info.Mode()&fs.ModeSymlink == 0:
			at, missing = next, err != nil
			continue
		}
		via = append(via, next)
		target, err := os.Readlink(next)
		if err != nil {
			return via, "", err
		}
		root, err := rest.Follow(target)
		if err != nil {
			return via, "", err
		}
		if root != "" {
			at, missing = root, false
		}
	}
	return via, at, nil
}
