package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/agentworker/worker/internal/symlink"
)

// resolve follows the symbolic links of a path that Rel returned and returns where
// it leads, relative to the folder. A link out of the folder is an error. An
// absolute link that stays inside works, which [os.Root] itself refuses. A missing
// path resolves as far as it exists.
//
// The answer is only a name. It is opened through the os.Root again, so a link
// that changes in between leads to an error and not out of the folder.
func (f *Folder) resolve(rel string) (string, error) {
	rest := symlink.Split(rel)
	done := "." // what is resolved so far
	for name, ok := rest.Next(); ok; name, ok = rest.Next() {
		if name == ".." {
			if done == "." {
				return "", f.leadsOut(rel)
			}
			done = path.Dir(done)
			continue
		}
		at := path.Join(done, name)
		info, err := f.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return f.resolveMissing(rel, at, rest.Rest())
		}
		if err != nil {
			return "", PathError(rel, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = at
			continue
		}
		target, err := f.root.Readlink(at)
		if err != nil {
			return "", PathError(rel, err)
		}
		if filepath.IsAbs(target) {
			inside, ok := f.RelAbs(target)
			if !ok {
				return "", f.leadsOut(rel)
			}
			target, done = inside, "."
		}
		if _, err := rest.Follow(target); err != nil {
			return "", fmt.Errorf("%s: more than %d symbolic links, or a loop of them", Show(rel), symlink.MaxLinks)
		}
	}
	return done, nil
}

// resolveMissing resolves what is left of a path below at, which is missing.
func (f *Folder) resolveMissing(rel, at string, rest []string) (string, error) {
	for _, name := range rest {
		if name == ".." {
			return "", PathError(rel, fs.ErrNotExist)
		}
		at = path.Join(at, name)
	}
	return at, nil
}

func (f *Folder) leadsOut(rel string) error {
	return fmt.Errorf("%s: a symbolic link in this path leads outside the workspace %s, which is refused", Show(rel), f.dir)
}

// Locate returns a path as [Folder.Rel] does, and the path that its symbolic links
// lead to. An empty p is ".".
func (f *Folder) Locate(p string) (rel, real string, err error) {
	if p == "" {
		p = "."
	}
	if rel, err = f.Rel(p); err != nil {
		return "", "", err
	}
	real, err = f.resolve(rel)
	return rel, real, err
}
