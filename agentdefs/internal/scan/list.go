package scan

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Limits of one place of agent files. A symlink may lead anywhere, for example to
// "/".
const (
	maxDepth   = 32     // folders below one another
	maxFolders = 5_000  // that are looked into
	maxFiles   = 20_000 // that are read
	maxUnread  = 200    // subfolders that are not read, but watched
)

// list adds the agent files of f, which is at dir. Symlinks to files and folders
// count; a folder that can be reached twice is read once.
func (s *Scan) list(l *Listing, f dialect.Folder, dir string, info fs.FileInfo) {
	w := walk{Scan: s, l: l, f: f, seen: map[string]bool{}, enter: s.enterUnread()}
	w.reports = !f.Nested && strings.HasSuffix("/"+f.Shown, "/"+dialect.WorkspaceFolders[0].Shown)
	w.folder(dir, f.Shown, info, 0)
	l.sort()
}

// walk goes through one place of agent files.
type walk struct {
	*Scan
	l       *Listing
	f       dialect.Folder
	seen    map[string]bool // folders, by their real paths
	full    bool
	reports bool             // subfolders that are not read are reported, if they hold agent files
	enter   func(dir string) // called for each of these
}

// stop ends the walk at the limits.
func (w *walk) stop(shown string) {
	w.full = true
	w.l.Diagnostics = append(w.l.Diagnostics, diag.OfFile(w.f.Shown, diag.FolderTooLarge, "name a smaller folder, or remove the symlink that leads elsewhere",
		fmt.Sprintf("the folder has more than %d folders or %d agent files; from %s on nothing is read; that may restrict agents of the same name, so none that is built in or of a folder before it is served", maxFolders, maxFiles, shown)))
	w.l.Lost = append(w.l.Lost, Lost{Shown: w.f.Shown})
}

func (w *walk) folder(dir, shown string, info fs.FileInfo, depth int) {
	if w.seen[dir] || w.full {
		return
	}
	if len(w.seen) == maxFolders {
		w.stop(shown)
		return
	}
	w.seen[dir] = true
	here := w.visit(dir, info)
	here.listed, here.nested = true, here.nested || w.f.Nested || w.reports || len(w.f.Each) > 0
	entries, err := w.disk.ReadDir(dir)
	if err != nil && !disk.NotThere(err) { // gone since it was found
		w.lose(w.l, shown, shown, err)
		return
	}
	w.l.read(shown)
	for _, e := range entries {
		if w.full {
			return
		}
		name := e.Name()
		at := File{Shown: path.Join(shown, name), Plugin: w.f.Plugin}
		isFile := dialect.IsAgentFile(at.Shown)
		if !isFile && len(w.f.Each) > 0 && !strings.HasPrefix(name, ".") && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) && w.ofOne(dir, info, at.Shown, name) {
			continue
		}
		if !isFile && w.reports && e.IsDir() && !strings.HasPrefix(name, ".") {
			w.unread(filepath.Join(dir, name), at.Shown)
		}
		if strings.HasPrefix(name, ".") || !isFile && !w.f.Nested { // editors' own files, for example
			continue
		}
		if !w.resolve(&at, dir, info, here, e, isFile) {
			continue
		}
		switch {
		case at.Err == nil && at.Info.IsDir():
			if w.f.Nested && depth < maxDepth {
				w.folder(at.Real, at.Shown, at.Info, depth+1)
			}
		case isFile && len(w.l.Files) == maxFiles:
			w.stop(at.Shown)
		case isFile:
			w.l.Files = append(w.l.Files, at)
		}
	}
}

// ofOne adds the file of a subfolder that is the folder of one agent. It returns false where it is
// none.
func (w *walk) ofOne(dir string, info fs.FileInfo, shown, name string) bool {
	for _, file := range w.f.Each {
		at := File{Shown: path.Join(shown, file)}
		at.Real, at.Info, at.Err = w.follow(dir, info, name+"/"+file)
		if at.Err != nil && disk.NotThere(at.Err) {
			continue
		}
		if len(w.l.Files) == maxFiles {
			w.stop(at.Shown)
			return true
		}
		w.l.Files = append(w.l.Files, at)
		return true
	}
	return false
}

// unread reports a subfolder that is not read, if it holds agent files.
func (w *walk) unread(dir, shown string) {
	if n := countAgentFiles(w.disk, dir, shown, dialect.Folder{Nested: true}, w.enter); n > 0 {
		w.l.Diagnostics = append(w.l.Diagnostics, diag.OfFile(shown, diag.SubfolderUnread, "move its files up to "+w.f.Shown,
			fmt.Sprintf("subfolders of %s are not read; agent files in this one: %d", w.f.Shown, n)))
	}
}

// resolve completes the file or folder at an entry of the folder dir. It returns
// false for an entry that is neither, or is not there.
func (w *walk) resolve(at *File, dir string, info fs.FileInfo, here *visited, e fs.DirEntry, isFile bool) bool {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		at.Real, at.Info, at.Err = w.follow(dir, info, e.Name())
		if at.Err != nil && !isFile {
			if !disk.NotThere(at.Err) {
				w.lose(w.l, at.Shown, at.Shown, at.Err)
			}
			return false
		}
		return true
	case !isFile && !e.IsDir():
		return false
	}
	at.Real = filepath.Join(dir, e.Name())
	if here.reported && w.known != nil && e.Type().IsRegular() {
		at.Info = w.known(Key{len(w.Listings), at.Shown}, at.Real)
	}
	if at.Info != nil {
		return true
	}
	var err error
	at.Info, err = w.disk.Lstat(at.Real)
	switch {
	case err == nil:
	case disk.NotThere(err): // gone since the folder was read
		return false
	case isFile:
		at.Real, at.Err = "", err
	default:
		w.lose(w.l, at.Shown, at.Shown, err)
		return false
	}
	return true
}

// enterUnread returns a function that notes that a subfolder is looked into, though
// its files are not read.
func (s *Scan) enterUnread() func(dir string) {
	left := maxUnread
	return func(dir string) {
		if left == 0 {
			return
		}
		left--
		if info, err := s.disk.Lstat(dir); err == nil {
			here := s.visit(dir, info)
			here.listed, here.nested = true, true
		}
	}
}
