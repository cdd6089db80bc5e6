// Package ownpath finds the programs that the worker itself starts, outside of every sandbox.
//
// PATH may have folders that agents write to, such as .venv/bin or node_modules/.bin. No program is
// taken from there.
package ownpath

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// left are the folders that agents write to.
var left struct {
	sync.Mutex
	dirs []string
}

// Leave leaves out folders that agents write to, with all below them, from now on and in the whole
// process.
func Leave(dirs ...string) {
	left.Lock()
	defer left.Unlock()
	for _, dir := range dirs {
		if dir != "" && !slices.Contains(left.dirs, dir) {
			left.dirs = append(left.dirs, dir)
		}
	}
}

// folders returns the folders that are left out, besides others.
func folders(others []string) []string {
	left.Lock()
	defer left.Unlock()
	return slices.Concat(left.dirs, others)
}

// Look returns the path of a program of the PATH of this process, without what [Leave] leaves out.
// A name with a slash is the path that a person has chosen.
func Look(name string) (string, error) {
	if strings.ContainsAny(name, `/`+string(filepath.Separator)) {
		return exec.LookPath(name)
	}
	return LookIn(name, os.Environ())
}

// LookIn returns the path of a program by the PATH of env. It takes none that lies in a folder
// of [Leave] or in one of dirs, or that is reached through a link there.
func LookIn(name string, env []string, dirs ...string) (string, error) {
	without := folders(dirs)
	inside := ""
	for _, dir := range filepath.SplitList(pathOf(env)) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, err := exec.LookPath(filepath.Join(dir, name))
		switch {
		case err != nil:
		case Below(path, without...):
			inside = path
		default:
			return path, nil
		}
	}
	if inside != "" {
		return "", fmt.Errorf("%s is in PATH only as %s: an agent can write that, so the worker doesn't run it; install %s elsewhere, or put its folder into PATH", name, inside, name)
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// Environ returns env with a PATH without relative folders, and without those of [Leave].
// It is for programs that look for others.
func Environ(env []string) []string {
	without := folders(nil)
	env = slices.Clone(env)
	for i, e := range env {
		name, list, _ := strings.Cut(e, "=")
		if !isPath(name) {
			continue
		}
		dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) || Below(dir, without...) })
		if len(dirs) == 0 {
			dirs = []string{os.DevNull} // an empty PATH means the current folder
		}
		env[i] = name + "=" + strings.Join(dirs, string(filepath.ListSeparator))
	}
	return env
}

// pathOf returns the PATH of env. Of two the last counts.
func pathOf(env []string) (list string) {
	for _, e := range env {
		if name, value, _ := strings.Cut(e, "="); isPath(name) {
			list = value
		}
	}
	return list
}

func isPath(name string) bool {
	return name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH")
}

// maxLinks bounds the links of a path.
const maxLinks = 40

// Below reports whether a path is one of dirs, lies below one, or leads through a link that does.
// A path that can't be followed counts as below.
func Below(path string, dirs ...string) bool {
	if len(dirs) == 0 {
		return false
	}
	for range maxLinks {
		if lies(path, dirs) {
			return true
		}
		next, err := follow(path)
		if err != nil {
			return !errors.Is(err, errNoLink)
		}
		path = next
	}
	return true
}

// lies reports whether a path is one of dirs or below it: by its names, or by the folders themselves.
func lies(path string, dirs []string) bool {
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
		root, err := os.Stat(dir)
		if err != nil {
			continue
		}
		for at := path; ; at = filepath.Dir(at) {
			if info, err := os.Stat(at); err == nil && os.SameFile(root, info) {
				return true
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return false
}

var errNoLink = errors.New("no link")

// follow returns the path with its first link followed. The error is errNoLink if it has none.
func follow(path string) (string, error) {
	path = filepath.Clean(path)
	for at := len(filepath.VolumeName(path)) + 1; at <= len(path); at++ {
		if at < len(path) && !os.IsPathSeparator(path[at]) {
			continue
		}
		info, err := os.Lstat(path[:at])
		if err != nil {
			return "", err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		to, err := os.Readlink(path[:at])
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path[:at]), to)
		}
		return filepath.Join(to, path[at:]), nil
	}
	return "", errNoLink
}
