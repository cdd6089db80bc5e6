package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/agentworker/worker/internal/symlink"
)

// resolve follows the symbolic links of a path that rel returned and says
// where it leads, relative to the workspace. Links that leave the workspace are
// refused; absolute ones that stay inside work, which os.Root alone would
// refuse. A path that does not exist resolves as far as it does.
//
// The answer is only a name: it is opened through the os.Root again, so a link
// that changes meanwhile leads to an error and not out of the workspace.
func (ws *Workspace) resolve(rel string) (string, error) {
	rest := symlink.Split(rel)
	done := "." // what is resolved so far
	for name, ok := rest.Next(); ok; name, ok = rest.Next() {
		if name == ".." {
			if done == "." {
				return "", ws.leadsOut(rel)
			}
			done = path.Dir(done)
			continue
		}
		at := path.Join(done, name)
		info, err := ws.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return ws.resolveMissing(rel, at, rest.Rest())
		}
		if err != nil {
			return "", pathError(rel, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = at
			continue
		}
		target, err := ws.root.Readlink(at)
		if err != nil {
			return "", pathError(rel, err)
		}
		if filepath.IsAbs(target) {
			inside, ok := ws.relAbs(target)
			if !ok {
				return "", ws.leadsOut(rel)
			}
			target, done = inside, "."
		}
		if _, err := rest.Follow(target); err != nil {
			return "", fmt.Errorf("%s: more than %d symbolic links, or a loop of them", showPath(rel), symlink.MaxLinks)
		}
	}
	return done, nil
}

// resolveMissing resolves what is left of a path below at, which is missing.
func (ws *Workspace) resolveMissing(rel, at string, rest []string) (string, error) {
	for _, name := range rest {
		if name == ".." {
			return "", pathError(rel, fs.ErrNotExist)
		}
		at = path.Join(at, name)
	}
	return at, nil
}

func (ws *Workspace) leadsOut(rel string) error {
	return fmt.Errorf("%s: a symbolic link in this path leads outside the workspace %s, which is refused", showPath(rel), ws.dir)
}

// locate is rel and resolve. An empty p is ".".
func (ws *Workspace) locate(p string) (rel, real string, err error) {
	if p == "" {
		p = "."
	}
	if rel, err = ws.rel(p); err != nil {
		return "", "", err
	}
	real, err = ws.resolve(rel)
	return rel, real, err
}

// openFile opens the regular file at real for reading. It refuses folders,
// pipes and devices without opening them, and does not block on one that has
// been put in place meanwhile.
func (ws *Workspace) openFile(real string) (*os.File, fs.FileInfo, error) {
	info, err := ws.root.Lstat(real)
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, nil, pathError(real, err)
	}
	f, err := ws.openReal(real)
	if err != nil {
		return nil, nil, pathError(real, err)
	}
	if info, err = f.Stat(); err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, pathError(real, err)
	}
	return f, info, nil
}

var (
	errFolder  = errors.New("it is a folder (list_dir shows what is in it)")
	errSpecial = errors.New("it is neither a file nor a folder but a pipe, socket or device")
)

// checkRegular returns an error unless info is of a regular file.
func checkRegular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errFolder
	case !info.Mode().IsRegular():
		return errSpecial
	}
	return nil
}

// pathError names the path as the model knows it, and drops the names of the
// system calls.
func pathError(rel string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist // the same words on every system
	}
	return fmt.Errorf("%s: %w", showPath(rel), err)
}
