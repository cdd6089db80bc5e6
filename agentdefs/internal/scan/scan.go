package scan

import (
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Key names a file over several scans: by the index of its folder in
// [Scan.Listings], and its path as shown. Where it really is may change.
type Key struct {
	Folder int
	Shown  string
}

// File is a file of a folder.
type File struct {
	Shown    string
	Real     string      // where its symlinks lead
	Info     fs.FileInfo // of Real
	Err      error       // why it cannot be looked at; then Real and Info are empty
	LastGood bool        // its folder cannot be read, so what was known of it stays

	Form   dialect.Form // how its agents are found in it; empty means that it holds one
	Plugin string       // the plugin that has it; empty means none
}

// Listing is the files of one folder, in the order of their paths.
type Listing struct {
	Files       []File
	Diagnostics []diag.Diagnostic // of folders
	Lost        []Lost            // what could not be read
	Tool        string            // the dialect that has the folder asked for; empty means none
	Outside     bool              // the folder is the user's: neither it nor a link to it is in the workspace

	dir     string          // where a folder of the user really is
	folders map[string]bool // that were read, as shown, or whose files stay as they were
}

// Lost is a folder whose files cannot be known now.
type Lost struct {
	Shown string // empty means the workspace itself
	Known bool   // it was read before, and its files stay as they were
}

// Scan is the list of files to read.
type Scan struct {
	*follower
	Listings []Listing // in the order of merging
	Dir      string    // the workspace's folder that is served, as shown

	from   []dialect.Dialect // that are read too
	root   string            // the workspace's real path; empty means it does not exist
	before *Scan             // during the scan; nil means this is the first

	// known returns the info of a file at a real path that has not changed since
	// it was read, as far as changes are reported; nil means it may have.
	known func(key Key, real string) fs.FileInfo
}

// Count returns how many files s has.
func (s *Scan) Count() (n int) {
	for _, l := range s.Listings {
		n += len(l.Files)
	}
	return n
}

// SetDisk replaces the disk that later calls look at.
func (s *Scan) SetDisk(d *disk.Disk) { s.disk = d }

// Visited reports whether s looked into dir, a real path.
func (s *Scan) Visited(dir string) bool { return s.dirs[dir] != nil }

// Below returns a real path relative to the workspace, slash-separated. false: it is outside.
// Without a known workspace, the folder above that of file's tool counts as one.
func (s *Scan) Below(real string, file *File) (rel string, ok bool) {
	root := s.root
	if root == "" {
		root = filepath.FromSlash(dialect.Top(filepath.ToSlash(file.Real)))
	}
	rel, err := filepath.Rel(root, real)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// Follow notes that a change at a path matters.
func (s *Scan) Follow(path string) { _, _, _ = s.resolve(path) }

// ShownDir returns a real path as shown: relative to the workspace if it is in it.
func (s *Scan) ShownDir(dir string) string {
	if s.root != "" {
		if rel, err := filepath.Rel(s.root, dir); err == nil && filepath.IsLocal(rel) {
			dir = rel
		}
	}
	return filepath.ToSlash(dir)
}

// AddLastGood adds the files, as they were known, of folders that cannot be read
// now: a built-in agent of the same name must not come back because of that.
func (s *Scan) AddLastGood(were iter.Seq[Key]) {
	for i := range s.Listings {
		l := &s.Listings[i]
		if len(l.Lost) == 0 {
			continue
		}
		found := make(map[string]bool, len(l.Files)) // another path may lead to a file
		for _, f := range l.Files {
			found[f.Shown] = true
		}
		for key := range were {
			if key.Folder == i && !found[key.Shown] && slices.ContainsFunc(l.Lost, func(at Lost) bool { return at.Known && at.contains(key.Shown) }) {
				l.Files = append(l.Files, File{Shown: key.Shown, LastGood: true})
			}
		}
		l.sort()
	}
}

func (l *Listing) sort() {
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Shown, b.Shown) })
}

// contains reports whether what is shown as path is below at, or at itself.
func (at Lost) contains(path string) bool {
	rest, ok := strings.CutPrefix(path, at.Shown)
	return ok && (at.Shown == "" || rest == "" || rest[0] == '/')
}

// read notes that what is in a folder is known.
func (l *Listing) read(shown string) {
	if l.folders == nil {
		l.folders = map[string]bool{}
	}
	l.folders[shown] = true
}

// lose notes that the files below at cannot be known, because shown cannot be
// read. Files that were known stay. If none were, the folder may restrict any
// agent that it overrides.
func (s *Scan) lose(l *Listing, shown, at string, err error) {
	d := unreadable(shown, err)
	var were map[string]bool
	if s.before != nil {
		were = s.before.Listings[len(s.Listings)].folders
	}
	if were[at] {
		d.Message += "; the agents that it had stay in force as they were"
		d.Fix = disk.Advice(err, "make it readable, or remove it to stop them")
	} else {
		d.Message += "; it may restrict agents of the same name, so none that is built in or of a folder before it is served"
		d.Fix = disk.Advice(err, "make it readable, or remove it to get those back")
	}
	here := Lost{at, were[at]}
	for folder := range were {
		if here.Known && here.contains(folder) {
			l.read(folder)
		}
	}
	if !slices.ContainsFunc(s.Listings, func(other Listing) bool { return slices.Contains(other.Diagnostics, d) }) {
		l.Diagnostics = append(l.Diagnostics, d)
	}
	l.Lost = append(l.Lost, here)
}

func unreadable(shown string, err error) diag.Diagnostic {
	return diag.OfFile(shown, diag.FileUnreadable, disk.Advice(err, "make it readable"), "the folder cannot be read: "+disk.Cause(err))
}
