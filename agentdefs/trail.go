package agentdefs

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

const maxLinks = 40 // symlinks in one path, as Linux has it

// enterFunc is called before anything in a folder is looked at for the first
// time, so that a change is either seen or told of. dir is its real path; above
// says that it only leads to folders of agent files. The result is whether
// every change in it since the scan before has been told of.
type enterFunc func(dir string, info fs.FileInfo, above bool) (told bool)

// trail follows paths as the system does, one name at a time, and keeps what it
// looked at: the folders to watch, and which names in them matter. Folders go by
// their real paths.
type trail struct {
	disk  *disk
	dirs  map[string]*lookedAt
	enter enterFunc // nil: nothing watches
	above bool      // what is looked into only leads to agent files
}

// lookedAt is what a trail has seen of a folder.
type lookedAt struct {
	info   fs.FileInfo
	told   bool            // of every change since the scan before
	names  map[string]bool // looked up, whether they exist or not
	listed bool            // its agent files matter, whatever their names
	nested bool            // and so do its subfolders
}

func newTrail(disk *disk, enter enterFunc) *trail {
	return &trail{disk: disk, dirs: map[string]*lookedAt{}, enter: enter}
}

// in notes that dir, a real path, is looked into.
func (t *trail) in(dir string, info fs.FileInfo) *lookedAt {
	l := t.dirs[dir]
	if l == nil {
		l = &lookedAt{info: info, names: map[string]bool{}}
		t.dirs[dir] = l
		if t.enter != nil {
			l.told = t.enter(dir, info, t.above)
		}
	}
	return l
}

// resolve follows an absolute path to its end: the real path and what is there.
// Where it breaks off, the last folder reached and the missing name are noted.
func (t *trail) resolve(path string) (real string, info fs.FileInfo, err error) {
	top := filepath.VolumeName(path) + string(filepath.Separator)
	if info, err = t.disk.lstat(top); err != nil {
		return "", nil, err
	}
	return t.follow(top, info, path[len(top)-1:])
}

// follow is resolve for a path relative to dir, a real path with its info.
func (t *trail) follow(dir string, info fs.FileInfo, path string) (string, fs.FileInfo, error) {
	real, links := dir, 0
	todo := strings.Split(filepath.ToSlash(path), "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		if !info.IsDir() {
			return "", nil, &fs.PathError{Op: "stat", Path: path, Err: syscall.ENOTDIR}
		}
		if name == ".." {
			if parent := filepath.Dir(real); parent != real {
				real, info = parent, t.dirs[parent].info // the way here led through it
			}
			continue
		}
		t.in(real, info).names[name] = true
		at := filepath.Join(real, name)
		next, err := t.disk.lstat(at)
		if err != nil {
			return "", nil, err
		}
		if next.Mode()&fs.ModeSymlink == 0 {
			real, info = at, next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, &fs.PathError{Op: "stat", Path: path, Err: syscall.ELOOP}
		}
		target, err := t.disk.readlink(at)
		if err != nil {
			return "", nil, err
		}
		if filepath.IsAbs(target) {
			real = filepath.VolumeName(target) + string(filepath.Separator)
			if info, err = t.disk.lstat(real); err != nil {
				return "", nil, err
			}
			target = target[len(real)-1:]
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	return real, info, nil
}
