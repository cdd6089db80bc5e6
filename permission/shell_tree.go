package permission

import (
	"io/fs"
	"path/filepath"
)

// maxTree bounds the files below a folder that are looked at one by one.
const maxTree = 5000

// tree adds a value like like for all that is below a folder.
func (a *shell) tree(dir string, like Value) {
	n := 0
	folds := a.ws.foldsCase(dir)
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
			a.add(v.folded())
		}
		return nil
	})
	if err != nil || n > maxTree || !a.look(0) || dir == "" {
		a.add(Value{Tool: like.Tool, DenyOnly: true, Unknown: true})
	}
}

// like returns a value for the file at path, which is free of symlinks.
func (a *shell) like(like Value, path string) Value {
	v := a.ws.fileValue(like.Tool, path)
	v.DenyOnly, v.Possible = like.DenyOnly, like.Possible
	return v
}
