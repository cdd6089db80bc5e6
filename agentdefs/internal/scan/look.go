package scan

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Options says which folders are read beside the workspace's.
type Options struct {
	UserDir   string   // with its subfolders, first; empty means no such folder
	From      []string // names of dialects, or "all"
	ToolsHome string   // the home folder of other tools' agents; empty means they are not read
	Dirs      []string // with their subfolders, last

	// WithoutWorkspace says why the folder that a workspace has is not read; empty means it is.
	WithoutWorkspace string
}

// Look finds the agent files of the workspace at root. It reads none of them.
// enter, before and known may be nil.
func Look(d *disk.Disk, root string, opts Options, enter EnterFunc, before *Scan, known func(key Key, real string) fs.FileInfo) *Scan {
	s := &Scan{follower: newFollower(d, enter), before: before, known: known}
	if opts.UserDir != "" {
		s.further(opts.UserDir, true)
	}
	s.from = dialect.From(opts.From)
	for _, o := range s.from {
		from := len(s.Listings)
		if len(o.Lists) > 0 {
			s.lists(root, o)
		}
		if len(o.Folders) > 0 || o.Nested || o.Plugins {
			s.dialect(root, o, opts.ToolsHome)
		}
		for i := range s.Listings[from:] {
			s.Listings[from+i].Tool = o.Name
		}
	}
	s.workspace(root, opts.WithoutWorkspace)
	for _, dir := range opts.Dirs {
		s.further(dir, false)
	}
	for i, l := range s.Listings {
		if l.dir != "" {
			rel, err := filepath.Rel(s.root, l.dir)
			s.Listings[i].Outside = s.root == "" || err != nil || !filepath.IsLocal(rel)
		}
	}
	s.before, s.known = nil, nil // they hold on to memory
	return s
}

// workspace lists the folder of root that is served, if there is one, with a
// diagnostic for one that is not because of it. without is [Options.WithoutWorkspace].
func (s *Scan) workspace(root, without string) {
	var l Listing
	defer func() { s.Listings = append(s.Listings, l) }()
	was := "" // the folder that was served
	if s.before != nil {
		was = s.before.Dir
	}
	real, info, err := s.resolveAbove(root)
	switch {
	case err == nil && !info.IsDir(), err != nil && disk.NotThere(err):
		return
	case err != nil:
		s.Dir = was
		s.lose(&l, ".", "", err)
		return
	}
	s.root = real
	l.read("")
	empty := "" // a folder without agent files, which hides no other
	defer func() { s.Dir = cmp.Or(s.Dir, empty) }()
	for _, f := range dialect.WorkspaceFolders {
		at, dir, err := s.follow(real, info, f.Shown)
		switch {
		case err == nil && !dir.IsDir(), err != nil && disk.NotThere(err):
		case without != "":
			l.Diagnostics = append(l.Diagnostics, diag.OfFile(f.Shown, diag.DirectoryShadowed, "", "the folder is not read: "+without))
		case (s.Dir != "" || empty != "") && s.also(f.Shown):
		case s.Dir != "":
			l.Diagnostics = append(l.Diagnostics, diag.OfFile(f.Shown, diag.DirectoryShadowed, "move its files to "+s.Dir+", remove that folder, or read both with --agents-from claude", "the folder is not read, because "+s.Dir+" exists"))
		case err != nil && was != "": // which of the folders to serve is unknown
			s.Dir = was
			s.lose(&l, f.Shown, was, err)
			return
		case err != nil:
			s.Dir = f.Shown
			s.lose(&l, f.Shown, f.Shown, err)
		default:
			if s.list(&l, f, at, dir); len(l.Files)+len(l.Lost) == 0 {
				empty = cmp.Or(empty, f.Shown)
				continue
			}
			s.Dir = f.Shown
		}
	}
}

// further lists a folder outside of the workspace.
func (s *Scan) further(dir string, optional bool) {
	var l Listing
	defer func() { s.Listings = append(s.Listings, l) }()
	f := dialect.Folder{Shown: filepath.ToSlash(dir), Nested: true}
	abs, err := filepath.Abs(dir)
	var info fs.FileInfo
	if err == nil {
		abs, info, err = s.resolveAbove(abs)
	}
	switch {
	case err == nil && info.IsDir():
		l.dir = abs
		s.list(&l, f, abs, info)
	case err != nil && !disk.NotThere(err):
		s.lose(&l, f.Shown, f.Shown, err)
	default:
		if err == nil {
			err, optional = syscall.ENOTDIR, false
		}
		if !optional {
			l.Diagnostics = append(l.Diagnostics, unreadable(f.Shown, err))
		}
	}
}

// dialect lists the folders of o.
func (s *Scan) dialect(root string, o dialect.Dialect, home string) {
	if o.Home {
		if home == "" {
			s.Listings = append(s.Listings, Listing{})
			return
		}
		s.further(filepath.Join(home, filepath.FromSlash(o.Folders[0].Shown)), true)
		return
	}
	var l Listing
	defer func() { s.Listings = append(s.Listings, l) }()
	first := dialect.WorkspaceFolders[0].Shown
	if o.Name == "claude" {
		own, err := s.disk.IsFolder(filepath.Join(root, filepath.FromSlash(first)))
		if err != nil {
			s.lose(&l, first, o.Folders[0].Shown, err)
		}
		if !own {
			return // it is the workspace's own
		}
	}
	real, info, err := s.resolveAbove(root)
	if err != nil && !disk.NotThere(err) {
		s.lose(&l, ".", "", err)
	}
	if err != nil || !info.IsDir() {
		return
	}
	l.read("")
	folders := o.Folders
	if o.Nested {
		folders = packageFolders(s.disk, real, func(dir string, err error) {
			if err == nil {
				l.read(dir)
			} else if s.before != nil && s.before.Listings[len(s.Listings)].folders[dir] {
				s.lose(&l, dir, dir, err)
			}
		})
	}
	if o.Plugins {
		folders = pluginFolders(s.disk, real, func(shown string) { _, _, _ = s.follow(real, info, shown) })
	}
	for _, f := range folders {
		at, dir, err := s.follow(real, info, f.Shown)
		switch {
		case err == nil && dir.IsDir():
			s.list(&l, f, at, dir)
		case err == nil && f.Plugin != "" && dialect.IsAgentFile(f.Shown):
			l.Files = append(l.Files, File{Shown: f.Shown, Real: at, Info: dir, Plugin: f.Plugin})
			l.sort()
		case err != nil && !disk.NotThere(err):
			s.lose(&l, f.Shown, f.Shown, err)
		}
	}
}

// lists finds the files of o that hold several agents.
func (s *Scan) lists(root string, o dialect.Dialect) {
	var l Listing
	defer func() { s.Listings = append(s.Listings, l) }()
	real, info, err := s.resolveAbove(root)
	if err != nil || !info.IsDir() {
		if err != nil && !disk.NotThere(err) {
			s.lose(&l, ".", "", err)
		}
		return
	}
	l.read("")
	for _, list := range o.Lists {
		at, file, err := s.follow(real, info, list.Shown)
		switch {
		case err == nil:
			l.read(list.Shown)
			l.Files = append(l.Files, File{Shown: list.Shown, Real: at, Info: file, Form: list.Form})
		case disk.NotThere(err):
			l.read(list.Shown)
		default:
			s.lose(&l, list.Shown, list.Shown, err)
		}
	}
	l.sort()
}

// also reports whether the workspace's folder is read as that of a dialect.
func (s *Scan) also(shown string) bool {
	return slices.ContainsFunc(s.from, func(o dialect.Dialect) bool { return o.Name == "claude" && o.Folders[0].Shown == shown })
}
