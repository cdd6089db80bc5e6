package agentdefs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bounds of one place of agent files. A symlink may lead anywhere: to "/", for
// example.
const (
	maxDepth   = 32     // folders below one another
	maxFolders = 5_000  // that are looked into
	maxFiles   = 20_000 // that are read
)

// folder is a place where agent files are.
type folder struct {
	shown  string // for people: relative to the root, or as it was given
	nested bool   // its subfolders are read too
}

// workspaceFolders are searched in this order below the root; the first that
// exists is served.
var workspaceFolders = []folder{
	{shown: ".agents/agents"},
	{shown: ".claude/agents", nested: true},
}

// source is a file of a folder.
type source struct {
	shown string
	real  string      // where its symlinks lead
	info  fs.FileInfo // of real
	err   error       // why it can't be looked at; then the above are empty
	kept  *record     // what was known of it, which stays, since its folder can't be read; nil: it is read
}

// listing is the files of one folder, in the order of their paths.
type listing struct {
	files       []source
	diagnostics []Diagnostic // of folders

	folders map[string]bool // that were read, as shown, or whose files are kept
	lost    []lost          // what could not be read
}

// lost is a folder whose files can't be known now.
type lost struct {
	shown string // empty: the workspace itself
	known bool   // it was read before, and its files are kept as they were
}

// scan is what is to be read.
type scan struct {
	*trail
	listings []listing // in the order of merging
	dir      string    // the workspace's folder that is served, as shown
	from     []origin  // that are read too
	root     string    // the workspace's real path; empty: there is none
	before   *scan     // nil: this is the first

	// known returns the info of a file at a real path that has not changed
	// since it was read, as far as changes are told of; nil: it may have.
	known func(key fileKey, real string) fs.FileInfo
}

// count returns how many files s has.
func (s *scan) count() (n int) {
	for _, l := range s.listings {
		n += len(l.files)
	}
	return n
}

// look finds the agent files of the workspace at root. It reads none of them.
// enter, before and known may be nil.
func look(disk *disk, root string, opts *Options, enter enterFunc, before *scan, known func(key fileKey, real string) fs.FileInfo) *scan {
	s := &scan{trail: newTrail(disk, enter), before: before, known: known}
	if opts.UserDir != "" {
		s.further(opts.UserDir, true)
	}
	s.from = opts.from()
	for _, o := range s.from {
		s.origin(root, o, opts.ToolsHome)
	}
	s.workspace(root)
	for _, dir := range opts.Dirs {
		s.further(dir, false)
	}
	return s
}

// workspace lists the folder of root that is served, if there is one, with a
// diagnostic for one that is not because of it.
func (s *scan) workspace(root string) {
	var l listing
	defer func() { s.listings = append(s.listings, l) }()
	was := "" // the folder that was served
	if s.before != nil {
		was = s.before.dir
	}
	real, info, err := s.outside(root)
	switch {
	case err == nil && !info.IsDir(), err != nil && nothingThere(err):
		return
	case err != nil:
		s.dir = was
		s.lose(&l, ".", "", err)
		return
	}
	s.root = real
	l.read("")
	for _, f := range workspaceFolders {
		at, dir, err := s.follow(real, info, f.shown)
		switch {
		case err == nil && !dir.IsDir(), err != nil && nothingThere(err):
		case s.dir != "" && s.also(f.shown):
		case s.dir != "":
			l.diagnostics = append(l.diagnostics, finding(f.shown, codeDirectoryShadowed, "move its files to "+s.dir+", remove that folder, or read both with --agents-from claude", "the folder is not read, because "+s.dir+" exists"))
		case err != nil && was != "": // which of the folders is to be served is not known
			s.dir = was
			s.lose(&l, f.shown, was, err)
			return
		case err != nil:
			s.dir = f.shown
			s.lose(&l, f.shown, f.shown, err)
		default:
			s.dir = f.shown
			s.list(&l, f, at, dir)
		}
	}
}

// further lists a folder outside of the workspace.
func (s *scan) further(dir string, optional bool) {
	var l listing
	defer func() { s.listings = append(s.listings, l) }()
	f := folder{shown: filepath.ToSlash(dir), nested: true}
	abs, err := filepath.Abs(dir)
	var info fs.FileInfo
	if err == nil {
		abs, info, err = s.outside(abs)
	}
	switch {
	case err == nil && info.IsDir():
		s.list(&l, f, abs, info)
	case err != nil && !nothingThere(err):
		s.lose(&l, f.shown, f.shown, err)
	default:
		if err == nil {
			err, optional = syscall.ENOTDIR, false
		}
		if !optional {
			l.diagnostics = append(l.diagnostics, unreadable(f.shown, err))
		}
	}
}

// read notes that what is in a folder is known.
func (l *listing) read(shown string) {
	if l.folders == nil {
		l.folders = map[string]bool{}
	}
	l.folders[shown] = true
}

// lose notes that the files below at can't be known, because shown can't be
// read: those that were known stay. Where none were, the folder may restrict
// any agent that it overrides.
func (s *scan) lose(l *listing, shown, at string, err error) {
	d := unreadable(shown, err)
	var were map[string]bool
	if s.before != nil {
		were = s.before.listings[len(s.listings)].folders
	}
	if were[at] {
		d.Message += "; the agents that it had stay in force as they were"
		d.Fix = advice(err, "make it readable, or remove it to stop them")
	} else {
		d.Message += "; it may restrict agents of the same name, so none that is built in or of a folder before it is served"
		d.Fix = advice(err, "make it readable, or remove it to get those back")
	}
	here := lost{at, were[at]}
	for folder := range were {
		if here.known && here.holds(folder) {
			l.read(folder)
		}
	}
	if !slices.ContainsFunc(s.listings, func(other listing) bool { return slices.Contains(other.diagnostics, d) }) {
		l.diagnostics = append(l.diagnostics, d)
	}
	l.lost = append(l.lost, here)
}

// outside is resolve for a path that leads to agent files.
func (s *scan) outside(path string) (real string, info fs.FileInfo, err error) {
	s.above = true
	defer func() { s.above = false }()
	return s.resolve(path)
}

// list adds the agent files of f, which is at dir. Symlinks to files and folders
// count; a folder that can be reached twice is read once.
func (s *scan) list(l *listing, f folder, dir string, info fs.FileInfo) {
	seen := map[string]bool{}
	full := false
	stop := func(shown string) {
		full = true
		l.diagnostics = append(l.diagnostics, finding(f.shown, codeFolderTooLarge, "name a smaller folder, or remove the symlink that leads elsewhere",
			fmt.Sprintf("the folder has more than %d folders or %d agent files; from %s on nothing is read; that may restrict agents of the same name, so none that is built in or of a folder before it is served", maxFolders, maxFiles, shown)))
		l.lost = append(l.lost, lost{shown: f.shown})
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
		here := s.in(dir, info)
		here.listed, here.nested = true, here.nested || f.nested
		entries, err := s.disk.readDir(dir)
		if err != nil && !nothingThere(err) { // gone since it was found: then it is no folder
			s.lose(l, shown, shown, err)
			return
		}
		l.read(shown)
		for _, e := range entries {
			if full {
				return
			}
			name := e.Name()
			isFile := agentFile(path.Join(shown, name))
			if !isFile && !f.nested && strings.HasSuffix("/"+f.shown, "/"+workspaceFolders[0].shown) && e.IsDir() && !strings.HasPrefix(name, ".") {
				if n := countAgentFiles(s.disk, filepath.Join(dir, name), path.Join(shown, name), true); n > 0 {
					l.diagnostics = append(l.diagnostics, finding(path.Join(shown, name), codeSubfolderUnread, "move its files up to "+f.shown,
						fmt.Sprintf("subfolders of %s are not read; agent files in this one: %d", f.shown, n)))
				}
			}
			if strings.HasPrefix(name, ".") || !isFile && !f.nested { // editors' own files, for example
				continue
			}
			at := source{shown: path.Join(shown, name)}
			switch {
			case e.Type()&fs.ModeSymlink != 0:
				if at.real, at.info, at.err = s.follow(dir, info, name); at.err != nil && !isFile {
					if !nothingThere(at.err) {
						s.lose(l, at.shown, at.shown, at.err)
					}
					continue
				}
			case isFile || e.IsDir():
				at.real = filepath.Join(dir, name)
				if here.told && s.known != nil && e.Type().IsRegular() {
					at.info = s.known(fileKey{len(s.listings), at.shown}, at.real)
				}
				if at.info == nil {
					at.info, err = s.disk.lstat(at.real)
					switch {
					case err == nil:
					case nothingThere(err): // gone since the folder was read
						continue
					case isFile:
						at.real, at.err = "", err
					default:
						s.lose(l, at.shown, at.shown, err)
						continue
					}
				}
			default:
				continue
			}
			switch {
			case at.err == nil && at.info.IsDir():
				if f.nested && depth < maxDepth {
					walk(at.real, at.shown, at.info, depth+1)
				}
			case isFile && len(l.files) == maxFiles:
				stop(at.shown)
			case isFile:
				l.files = append(l.files, at)
			}
		}
	}
	walk(dir, f.shown, info, 0)
	slices.SortFunc(l.files, func(a, b source) int { return strings.Compare(a.shown, b.shown) })
}

// finding is a diagnostic of a file or folder as a whole.
func finding(shown, code, fix, message string) Diagnostic {
	return Diagnostic{File: shown, Severity: severities[code], Code: code, Message: message, Fix: fix}
}

func unreadable(shown string, err error) Diagnostic {
	return finding(shown, codeFileUnreadable, advice(err, "make it readable"), "the folder cannot be read: "+cause(err))
}

// cause is err without the operation and path that a diagnostic names itself.
func cause(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return err.Error()
}
