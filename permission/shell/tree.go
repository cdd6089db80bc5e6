package shell

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/agentworker/worker/permission"
)

// maxTree bounds the files below a folder that are looked at one by one.
const maxTree = 5000

// tree adds a value like like for all that is below a folder.
func (a *analysis) tree(dir string, like permission.Value) {
	n := 0
	folds := a.ws.FoldsCase(dir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it cannot be read by the command either
		}
		if n++; n > maxTree || !a.look(1) {
			return fs.SkipAll
		}
		if d.Type()&fs.ModeSymlink != 0 {
			for _, v := range a.fileValues(like.Tool, dir, path) {
				v.DenyOnly, v.Possible = like.DenyOnly && !v.Unknown, like.Possible
				a.add(v)
			}
			return nil
		}
		v := a.like(like, path)
		a.add(v)
		if folds {
			a.add(v.InLowerCase())
		}
		return nil
	})
	if err != nil || n > maxTree || !a.look(0) || dir == "" {
		a.add(permission.Value{Tool: like.Tool, DenyOnly: true, Unknown: true})
	}
}

// within reports whether the cleaned path is the folder dir, or below it.
func within(dir, path string) bool {
	sep := string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, sep)+sep)
}

// like returns a value for the file at path, which is free of symlinks.
func (a *analysis) like(like permission.Value, path string) permission.Value {
	v := a.ws.FileValue(like.Tool, path)
	v.DenyOnly, v.Possible = like.DenyOnly, like.Possible
	return v
}
