package scan

import (
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/agentworker/worker/internal/disk"
	"github.com/agentworker/worker/internal/symlink"
)

// EnterFunc is called before a folder is first looked into. So every change is
// either seen or reported by the system. dir is the folder's real path; above
// says that it only leads to folders of agent files. The result is whether
// every change since the scan before has been reported.
type EnterFunc func(dir string, info fs.FileInfo, above bool) (reported bool)

// follower follows paths as the system does, one name at a time, and keeps what
// it looked at: the folders to watch, and which names in them matter. Folders go
// by their real paths.
type follower struct {
	disk  *disk.Disk
	dirs  map[string]*visited
	enter EnterFunc // nil means nothing watches
	above bool      // what is looked into only leads to agent files
}

// visited is what a follower has seen of a folder.
type visited struct {
	info     fs.FileInfo
	reported bool            // every change since the scan before
	names    map[string]bool // looked up, whether they exist or not
	listed   bool            // its agent files matter, whatever their names
	nested   bool            // and so do its subfolders
}

func newFollower(d *disk.Disk, enter EnterFunc) *follower {
	return &follower{disk: d, dirs: map[string]*visited{}, enter: enter}
}

// visit notes that dir, a real path, is looked into.
func (f *follower) visit(dir string, info fs.FileInfo) *visited {
	v := f.dirs[dir]
	if v == nil {
		v = &visited{info: info, names: map[string]bool{}}
		f.dirs[dir] = v
		if f.enter != nil {
			v.reported = f.enter(dir, info, f.above)
		}
	}
	return v
}

// resolve follows an absolute path to its end: the real path and what is there.
// Where it breaks off, the last folder reached and the missing name are noted.
func (f *follower) resolve(path string) (real string, info fs.FileInfo, err error) {
	top := filepath.VolumeName(path) + string(filepath.Separator)
	if info, err = f.disk.Lstat(top); err != nil {
		return "", nil, err
	}
	return f.follow(top, info, path[len(top)-1:])
}

// resolveAbove is resolve for a path that only leads to agent files.
func (f *follower) resolveAbove(path string) (real string, info fs.FileInfo, err error) {
	f.above = true
	defer func() { f.above = false }()
	return f.resolve(path)
}

// follow is resolve for a path relative to dir, a real path with its info.
func (f *follower) follow(dir string, info fs.FileInfo, path string) (string, fs.FileInfo, error) {
	real := dir
	rest := symlink.Split(path)
	for name, ok := rest.Next(); ok; name, ok = rest.Next() {
		if !info.IsDir() {
			return "", nil, &fs.PathError{Op: "stat", Path: path, Err: syscall.ENOTDIR}
		}
		if name == ".." {
			if parent := filepath.Dir(real); parent != real {
				real, info = parent, f.dirs[parent].info // the way here led through it
			}
			continue
		}
		f.visit(real, info).names[name] = true
		at := filepath.Join(real, name)
		next, err := f.disk.Lstat(at)
		if err != nil {
			return "", nil, err
		}
		if next.Mode()&fs.ModeSymlink == 0 {
			real, info = at, next
			continue
		}
		target, err := f.disk.Readlink(at)
		if err != nil {
			return "", nil, err
		}
		root, err := rest.Follow(target)
		if err != nil {
			return "", nil, &fs.PathError{Op: "stat", Path: path, Err: syscall.ELOOP}
		}
		if root == "" {
			continue
		}
		real = root
		if info, err = f.disk.Lstat(real); err != nil {
			return "", nil, err
		}
	}
	return real, info, nil
}
