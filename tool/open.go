package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/permission"
)

// A call is judged by the paths that its symbolic links lead to, before it runs.
// What runs opens the last of them, in which no name may be a link any more: a
// link that is put in place between the two leads to an error.

// errMoved says that a path leads elsewhere than when it was judged.
var errMoved = errors.New("what it leads to has changed since the call was judged: make the call again")

// judged returns an error unless real is one of the paths by which the call of
// a file tool was judged.
func (c *Call) judged(tool, real string) error {
	if slices.ContainsFunc(c.Values, func(v permission.Value) bool { return v.Tool == tool && v.Text == real }) {
		return nil
	}
	return fmt.Errorf("%s: %w", showPath(real), errMoved)
}

// openJudged opens the file real, which a call of the tool is about.
func (ws *Workspace) openJudged(call *Call, tool, real string) (*os.File, fs.FileInfo, error) {
	if err := call.judged(tool, real); err != nil {
		return nil, nil, err
	}
	f, info, err := ws.openFile(real)
	if err != nil {
		return nil, nil, err
	}
	if err := (&links{ws: ws, call: call}).check(tool, real, info); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// openIn opens the folder that holds real, without following a symbolic link,
// and returns it with the last name of real. With create, folders that are
// missing are made.
func (ws *Workspace) openIn(real string, create bool) (dir *os.Root, base string, err error) {
	dir, err = ws.root.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	names := strings.Split(real, "/")
	for _, name := range names[:len(names)-1] {
		info, err := dir.Lstat(name)
		if create && errors.Is(err, fs.ErrNotExist) {
			if err = dir.Mkdir(name, 0o777); err == nil || errors.Is(err, fs.ErrExist) {
				info, err = dir.Lstat(name)
			}
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = errMoved
		}
		var sub *os.Root
		if err == nil {
			sub, err = dir.OpenRoot(name)
		}
		dir.Close()
		if err != nil {
			return nil, "", err
		}
		dir = sub
		if now, err := dir.Stat("."); err != nil || !os.SameFile(info, now) {
			dir.Close()
			return nil, "", errors.Join(errMoved, err)
		}
	}
	return dir, names[len(names)-1], nil
}

// openSlowly opens real for reading without following a symbolic link, where
// the system has no call for that.
func (ws *Workspace) openSlowly(real string) (*os.File, error) {
	dir, base, err := ws.openIn(real, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	before, err := dir.Lstat(base)
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(base, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		f.Close()
		return nil, errors.Join(errMoved, err)
	}
	return f, nil
}

// maxLinkedNames bounds the names among which the other names of a file are
// looked for.
const maxLinkedNames = 200_000

// links finds the other names of files that have some. They are looked for once,
// when the first such file comes.
type links struct {
	ws   *Workspace
	call *Call

	once  sync.Once
	names map[fileID][]string
	all   bool // that the workspace has are in names
}

// check judges a file of a call of the tool by its other names: a hard link is
// the same file, and a rule that denies one name denies it. Names that are not
// in the workspace are not known: then a rule that denies by an absolute path is
// taken to mean the file.
func (l *links) check(tool, real string, info fs.FileInfo) error {
	id, count := identify(info)
	if count < 2 || l.call.Readable == nil {
		return nil
	}
	l.once.Do(l.find)
	for _, name := range l.names[id] {
		if name != real && !l.call.Readable(name) {
			return fmt.Errorf("%s is another name of a file that the rules deny", showPath(real))
		}
	}
	if uint64(len(l.names[id])) < count && (!l.all || deniesOutside(l.call.Rules, tool)) {
		return fmt.Errorf("%s is refused: the file has other names that are not known, and one may be among those that the rules deny", showPath(real))
	}
	return nil
}

// find collects the names of the workspace's files that have several.
func (l *links) find() {
	l.names, l.all = make(map[fileID][]string), true
	looked := 0
	err := fs.WalkDir(l.ws.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if looked++; looked > maxLinkedNames {
			return errTooMany
		}
		if err != nil {
			l.all = false
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			if id, count := identify(info); count > 1 {
				l.names[id] = append(l.names[id], name)
			}
		}
		return nil
	})
	l.all = l.all && err == nil
}

var errTooMany = errors.New("more names than are looked at")

// deniesOutside reports whether a rule denies some file outside of the workspace
// to the tool, or reading it.
func deniesOutside(rules *permission.Layers, tool string) bool {
	if rules == nil {
		return false
	}
	return slices.ContainsFunc(rules.All(), func(set *permission.Ruleset) bool {
		return set.DeniesAbsolute(tool) || set.DeniesAbsolute("read_file")
	})
}
