// Package control finds the files that steer agents and git in a workspace. They are the agent
// files that the loader may read, the targets of links among them, and the files from which git
// takes settings or programs.
//
// It looks for these files, and has no list of their paths. What it can't look at is closed.
package control

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/fileinfo"
	"github.com/agentworker/worker/internal/gitplace"
)

// Finder finds what steers agents and git below Root. It remembers each folder as long as that has
// not changed. It is safe for concurrent use.
type Finder struct {
	Root string // a real path
	Home string // what ~ means in git's settings; empty means unknown

	// Folders and Files are what agents are read from. A relative one counts in every folder of
	// the workspace, which may be the top of another.
	Folders []string

	mu      sync.Mutex
	last    *Found
	when    time.Time // of last
	took    time.Duration
	folders map[string]*folder
	files   map[string]*settings
	global  globals
}

// Found is what steers agents and git. Paths are absolute.
type Found struct {
	Git    []string          // git takes settings or programs from them
	Agents []string          // agents are read from them
	Bare   []string          // repositories without working files
	Closed map[string]string // what nobody may write since it can't be looked at, and why
}

func (f *Found) close(path, why string) {
	if f.Closed == nil {
		f.Closed = make(map[string]string)
	}
	if f.Closed[path] == "" {
		f.Closed[path] = why
	}
}

// Bounds of a look.
const (
	maxFolders = 500_000
	maxLinked  = 200_000 // names below folders of agents
	settle     = 50 * time.Millisecond
)

// folder is what is known of one folder.
type folder struct {
	info    os.FileInfo
	settled bool // the time of the last change was old when the folder was read
	subs    []string
	git     []string // names that git takes for .git
	bare    bool
	agents  []string // of Folders, those that begin with a name in here
}

// Find looks at the workspace. What it found counts for ten times as long as the look took: agents can
// change none of it, and a large workspace is not looked at all the time.
func (f *Finder) Find() *Found {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := time.Now()
	if f.last == nil || began.Sub(f.when) > 10*f.took {
		f.last = f.look()
		f.when = time.Now()
		f.took = f.when.Sub(began)
	}
	return f.last
}

func (f *Finder) look() *Found {
	found := &Found{}
	w := &walk{Finder: f, found: found, left: maxFolders, next: make(map[string]*folder)}
	w.above()
	w.folder(f.Root)
	f.folders = w.next
	if w.left < 0 {
		found.close(f.Root, "it has more folders than are looked at, and one may be a repository")
	}
	f.repositories(found, w.places)
	l := &linked{found: found, root: f.Root, seen: make(map[string]bool), left: maxLinked}
	for _, path := range f.Folders {
		if filepath.IsAbs(path) {
			found.Agents = append(found.Agents, l.follow(path)...)
		}
	}
	for _, path := range w.agents {
		found.Agents = append(found.Agents, l.follow(path)...)
	}
	var git []string
	for _, path := range found.Git {
		git = append(git, l.follow(path)...)
	}
	found.Git = git
	if l.left < 0 {
		found.close(f.Root, "the folders of agent files hold more names than are looked at, and one may lead anywhere")
	}
	for _, list := range []*[]string{&found.Git, &found.Agents, &found.Bare} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return found
}

// place is a folder that git takes for the top of a repository.
type place struct {
	top string // of the working files
	git string // the path of its .git, or of itself
}

// walk is one look at the folders.
type walk struct {
	*Finder
	found  *Found
	left   int
	next   map[string]*folder
	places []place
	agents []string
}

// above notes the repository that the workspace is a part of.
func (w *walk) above() {
	for dir := w.Root; dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		at := filepath.Join(dir, ".git")
		if _, err := os.Lstat(at); err == nil {
			w.places = append(w.places, place{dir, at})
			return
		}
		if gitplace.IsRepository(dir) {
			w.places = append(w.places, place{dir, dir})
			return
		}
	}
}

func (w *walk) folder(path string) {
	if w.left--; w.left < 0 {
		return
	}
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return // it is gone
	}
	at := w.folders[path]
	if at == nil || !at.settled || !fileinfo.Same(at.info, info) {
		if at = w.read(path, info); at == nil {
			return // neither a command nor a file tool sees what is in there
		}
	}
	w.next[path] = at
	for _, name := range at.git {
		w.places = append(w.places, place{path, filepath.Join(path, name)})
	}
	if at.bare {
		w.found.Bare = append(w.found.Bare, path)
		w.places = append(w.places, place{path, path})
	}
	for _, name := range at.agents {
		w.agents = append(w.agents, filepath.Join(path, name))
	}
	for _, sub := range at.subs {
		w.folder(filepath.Join(path, sub))
	}
}

// read reads a folder; nil means that it can't be read.
func (w *walk) read(path string, info os.FileInfo) *folder {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	at := &folder{info: info, settled: time.Since(info.ModTime()) > settle}
	parts := 0
	for _, e := range entries {
		name := e.Name()
		if gitplace.IsDotGit(name) {
			at.git = append(at.git, name)
			continue
		}
		if name == "HEAD" || name == "commondir" || name == "objects" || name == "refs" {
			parts++
		}
		for _, agents := range w.Folders {
			first, _, _ := strings.Cut(filepath.ToSlash(agents), "/")
			if !filepath.IsAbs(agents) && gitplace.SameName(first, name) {
				at.agents = append(at.agents, name+filepath.ToSlash(agents)[len(first):])
			}
		}
		if e.IsDir() {
			at.subs = append(at.subs, name)
		}
	}
	if at.bare = parts > 1 && gitplace.IsRepository(path); at.bare {
		at.subs = nil
	}
	return at
}
