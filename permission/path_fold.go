package permission

import (
	"github.com/agentworker/worker/permission/glob"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// FoldsCase reports whether a folder on the way to the absolute path takes
// names in any case, so that ".ENV" opens ".env". Nothing is written to find
// out: a name in the other case leads to the same file or it does not. A folder
// that has no name to try answers as the one above it.
func (w Workspace) FoldsCase(abs string) bool {
	vol := filepath.VolumeName(abs)
	sep := string(filepath.Separator)
	dir := vol + sep
	unclear := runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	for name := range strings.SplitSeq(abs[len(vol):], sep) {
		if name == "" {
			continue
		}
		folds, known, exists := w.probeCase(dir, name)
		if known {
			unclear = false
		}
		if folds {
			return true
		}
		if !exists {
			break // what is made there is as dir
		}
		dir = filepath.Join(dir, name)
	}
	return unclear
}

// probeCase tries the names in dir in the other case. known: there was one.
func (w Workspace) probeCase(dir, name string) (folds, known, exists bool) {
	own, err := os.Lstat(filepath.Join(dir, name))
	exists = err == nil
	if w.folds != nil {
		return w.folds(dir), true, exists
	}
	if exists && swapCase(name) != name {
		return sameInOtherCase(dir, name, own), true, true
	}
	if exists {
		return false, false, true // another component will tell
	}
	f, err := os.Open(dir)
	if err != nil {
		return false, false, false
	}
	defer f.Close()
	names, _ := f.Readdirnames(20)
	for _, other := range names {
		if info, err := os.Lstat(filepath.Join(dir, other)); err == nil && swapCase(other) != other {
			return sameInOtherCase(dir, other, info), true, false
		}
	}
	return false, false, false
}

func sameInOtherCase(dir, name string, own os.FileInfo) bool {
	info, err := os.Lstat(filepath.Join(dir, swapCase(name)))
	return err == nil && os.SameFile(own, info)
}

// swapCase returns s with the ASCII letters in the other case.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

// InLowerCase returns the value by which rules deny a file in whatever case it
// and they are written. It can deny and nothing else.
func (v Value) InLowerCase() Value {
	v.Text, v.Abs, v.Kind = strings.ToLower(v.Text), strings.ToLower(v.Abs), Folded
	return v
}

// foldGlob returns the pattern for values in lower case.
func foldGlob(pattern string, plain *glob.Glob) *glob.Glob {
	low := strings.ReplaceAll(strings.ToLower(pattern), "[:upper:]", "[:lower:]")
	g, err := glob.Compile(low)
	if err != nil {
		return plain // such as [Z-a]
	}
	return g
}
