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
	maxUnread  = 200    // subfolders that are not read, and watched: what comes there is told of
)

// list adds the agent files of f, which is at dir. Symlinks to files and folders
// count; a folder that can be reached twice is read once.
func (s *Scan) list(l *Listing, f dialect.Folder, dir string, info fs.FileInfo) {
	seen := map[string]bool{}
	full := false
	// Subfolders that are not read are told of, if they hold agent files.
	enter := s.enterUnread()
	told := !f.Nested && strings.HasSuffix("/"+f.Shown, "/"+dialect.WorkspaceFolders[0].Shown)
	stop := func(shown string) {
		full = true
		l.Diagnostics = append(l.Diagnostics, diag.OfFile(f.Shown, diag.FolderTooLarge, "name a smaller folder, or remove the symlink that leads elsewhere",
			fmt.Sprintf("the folder has more than %d folders or %d agent files; from %s on nothing is read; that may restrict agents of the same name, so none that is built in or of a folder before it is served", maxFolders, maxFiles, shown)))
		l.Lost = append(l.Lost, Lost{Shown: f.Shown})
	}
	var walk func(dir, shown string, info fs.FileInfo, depth int)
	walk = func(dir, shown string, info fs.FileInfo, depth int) {
		if seen[dir] || full {
			return
		}
		if len(seen) == maxFolders {
			stop(shown)
			return
		}
		seen[dir] = true
		here := s.visit(dir, info)
		here.listed, here.nested = true, here.nested || f.Nested || told
		entries, err := s.disk.ReadDir(dir)
		if err != nil && !disk.NotThere(err) { // gone since it was found
			s.lose(l, shown, shown, err)
			return
		}
		l.read(shown)
		for _, e := range entries {
			if full {
				return
			}
			name := e.Name()
			isFile := dialect.IsAgentFile(path.Join(shown, name))
			if !isFile && told && e.IsDir() && !strings.HasPrefix(name, ".") {
				if n := countAgentFiles(s.disk, filepath.Join(dir, name), path.Join(shown, name), true, enter); n > 0 {
					l.Diagnostics = append(l.Diagnostics, diag.OfFile(path.Join(shown, name), diag.SubfolderUnread, "move its files up to "+f.Shown,
						fmt.Sprintf("subfolders of %s are not read; agent files in this one: %d", f.Shown, n)))
				}
			}
			if strings.HasPrefix(name, ".") || !isFile && !f.Nested { // editors' own files, for example
				continue
			}
			at := File{Shown: path.Join(shown, name)}
			switch {
			case e.Type()&fs.ModeSymlink != 0:
				if at.Real, at.Info, at.Err = s.follow(dir, info, name); at.Err != nil && !isFile {
					if !disk.NotThere(at.Err) {
						s.lose(l, at.Shown, at.Shown, at.Err)
					}
					continue
				}
			case isFile || e.IsDir():
				at.Real = filepath.Join(dir, name)
				if here.reported && s.known != nil && e.Type().IsRegular() {
					at.Info = s.known(Key{len(s.Listings), at.Shown}, at.Real)
				}
				if at.Info == nil {
					at.Info, err = s.disk.Lstat(at.Real)
					switch {
					case err == nil:
					case disk.NotThere(err): // gone since the folder was read
						continue
					case isFile:
						at.Real, at.Err = "", err
					default:
						s.lose(l, at.Shown, at.Shown, err)
						continue
					}
				}
			default:
				continue
			}
			switch {
			case at.Err == nil && at.Info.IsDir():
				if f.Nested && depth < maxDepth {
					walk(at.Real, at.Shown, at.Info, depth+1)
				}
			case isFile && len(l.Files) == maxFiles:
				stop(at.Shown)
			case isFile:
				l.Files = append(l.Files, at)
			}
		}
	}
	walk(dir, f.Shown, info, 0)
	l.sort()
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
