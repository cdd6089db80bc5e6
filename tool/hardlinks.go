package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// judged returns an error unless real is one of the paths by which the call of
// a file tool was judged.
func (c *Call) judged(tool, real string) error {
	if slices.ContainsFunc(c.Values, func(v permission.Value) bool { return v.Tool == tool && v.Text == real }) {
		return nil
	}
	return fmt.Errorf("%s: %w", rootfs.Show(real), rootfs.ErrMoved)
}

// openJudged opens the file real, which a call of the tool is about.
func (ws *Workspace) openJudged(call *Call, tool, real string) (*os.File, fs.FileInfo, error) {
	if err := call.judged(tool, real); err != nil {
		return nil, nil, err
	}
	f, info, err := ws.files.OpenFile(real)
	if err != nil {
		return nil, nil, err
	}
	if err := (&links{ws: ws, call: call}).check(tool, real, info); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
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
	names map[rootfs.FileID][]string
	all   bool // that the workspace has are in names
}

// check judges a file of a call of the tool by its other names: a hard link is
// the same file, and a rule that denies one name denies it. Names that are not
// in the workspace are not known: then a rule that denies by an absolute path is
// taken to mean the file.
func (l *links) check(tool, real string, info fs.FileInfo) error {
	id, count := rootfs.Identify(info)
	if count < 2 || l.call.Readable == nil {
		return nil
	}
	l.once.Do(l.find)
	for _, name := range l.names[id] {
		if name != real && !l.call.Readable(name) {
			return fmt.Errorf("%s is another name of a file that the rules deny", rootfs.Show(real))
		}
	}
	if uint64(len(l.names[id])) < count && (!l.all || deniesOutside(l.call.Rules, tool)) {
		return fmt.Errorf("%s is refused: the file has other names that are not known, and the rules may deny one of them", rootfs.Show(real))
	}
	return nil
}

// find collects the names of the workspace's files that have several.
func (l *links) find() {
	l.names, l.all = make(map[rootfs.FileID][]string), true
	looked := 0
	err := fs.WalkDir(l.ws.files.FS(), ".", func(name string, d fs.DirEntry, err error) error {
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
			if id, count := rootfs.Identify(info); count > 1 {
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
		return set.DeniesAbsolute(tool) || set.DeniesAbsolute(toolcatalog.ReadFile)
	})
}
