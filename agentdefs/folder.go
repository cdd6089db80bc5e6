package agentdefs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	maxFile  = 1 << 20 // bytes; the longest of several thousand real ones has 127 KB
	maxDepth = 32      // folders below one another
)

// folder is a place where agent files are.
type folder struct {
	path   string // for the file system
	shown  string // for people: relative to the root, or as it was given
	nested bool   // its subfolders are read too
}

// source is a file of a folder.
type source struct{ path, shown string }

// workspaceFolders are searched in this order below the root; the first that
// exists is served.
var workspaceFolders = []folder{
	{shown: ".agents/agents"},
	{shown: ".claude/agents", nested: true},
}

// findWorkspace returns the folder of root that is served, if there is one, and
// a diagnostic for one that is not because of it.
func findWorkspace(root string) (served folder, ok bool, out []Diagnostic) {
	for _, f := range workspaceFolders {
		f.path = filepath.Join(root, filepath.FromSlash(f.shown))
		info, err := os.Stat(f.path)
		switch {
		case err == nil && !info.IsDir(), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		case ok:
			out = append(out, finding(f.shown, codeDirectoryShadowed, "move its files to "+served.shown+", or remove that folder", "the folder is not read, because "+served.shown+" exists"))
		default: // a folder, or one that cannot be looked at: list says so
			served, ok = f, true
		}
	}
	return served, ok, out
}

// list returns the agent files of f in the order of their paths. Symlinks to
// files and folders count; a folder that can be reached twice is read once.
func (f folder) list() (files []source, out []Diagnostic) {
	seen := map[string]bool{}
	var walk func(dir, shown string, depth int)
	walk = func(dir, shown string, depth int) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && seen[real] {
			return
		}
		seen[real] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			out = append(out, finding(shown, codeFileUnreadable, "make it readable", "the folder cannot be read: "+cause(err)))
		}
		for _, e := range entries {
			name := e.Name()
			if strings.HasPrefix(name, ".") { // editors' own files, for example
				continue
			}
			at := source{filepath.Join(dir, name), path.Join(shown, name)}
			isDir := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				if info, err := os.Stat(at.path); err == nil {
					isDir = info.IsDir()
				}
			}
			switch {
			case isDir && f.nested && depth < maxDepth:
				walk(at.path, at.shown, depth+1)
			case !isDir && strings.HasSuffix(name, ".md"):
				files = append(files, at)
			}
		}
	}
	walk(f.path, f.shown, 0)
	slices.SortFunc(files, func(a, b source) int { return strings.Compare(a.shown, b.shown) })
	return files, out
}

// read parses the file at s.
func (s source) read(opts *Options) parsed {
	data, err := readFile(s.path)
	if err != nil {
		return parsed{file: s.shown, name: fileName(s.shown), diagnostics: []Diagnostic{
			finding(s.shown, codeFileUnreadable, "make it a readable text file, or remove it", "the file cannot be read: "+cause(err)),
		}}
	}
	return parse(s.shown, data, opts)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before opening it: a pipe would block
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), maxFile)) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(file, maxFile+1)); err != nil {
		return nil, err
	}
	if data.Len() > maxFile {
		return nil, fmt.Errorf("it is larger than %d KiB", maxFile>>10)
	}
	return data.Bytes(), nil
}

// finding is a diagnostic of a file or folder as a whole.
func finding(shown, code, fix, message string) Diagnostic {
	return Diagnostic{File: shown, Severity: severities[code], Code: code, Message: message, Fix: fix}
}

// cause is err without the operation and path that a diagnostic names itself.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return err.Error()
}
