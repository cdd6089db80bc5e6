package skills

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/fileinfo"
	"github.com/agentworker/worker/internal/termtext"
)

// Bounds of what is found.
const (
	MaxSkills  = 300  // of all folders together
	maxEntries = 5000 // of one folder
)

// WorkspaceFolders are the folders of skills in a workspace. The first that has a name counts.
var WorkspaceFolders = []string{".agents/skills", ".claude/skills", ".github/skills"}

// userFolders are the same below the user's home folder, after those of the workspace.
var userFolders = []string{".agents/skills", ".claude/skills"}

// UserFolders returns the folders of the user's skills, below a home folder.
func UserFolders(home string) []string {
	if home == "" {
		return nil
	}
	var dirs []string
	for _, f := range userFolders {
		dirs = append(dirs, filepath.Join(home, filepath.FromSlash(f)))
	}
	return dirs
}

// PluginFolder is the folder of the skills of a plugin in the workspace.
type PluginFolder struct {
	Plugin string // its name, which stands before those of its skills and a colon
	Folder string // relative to the root, slash-separated
}

// Set is the skills that were there at a moment. It is not changed.
type Set struct {
	skills []*Skill // by name
	found  []Diagnostic
	looks  []look
}

// look is what a look at a file has found; nil means there was none.
type look struct {
	path string
	info fs.FileInfo
}

// All returns the skills in the order of their names. The caller must not change them. s may
// be nil.
func (s *Set) All() []*Skill {
	if s == nil {
		return nil
	}
	return s.skills
}

// ForModels returns the skills that models may load. s may be nil.
func (s *Set) ForModels() []*Skill {
	return slices.DeleteFunc(slices.Clone(s.All()), func(s *Skill) bool { return s.NoModel })
}

// Get returns the skill of a name, in any case; nil means there is none. s may be nil.
func (s *Set) Get(name string) *Skill {
	if s == nil {
		return nil
	}
	name = strings.ToLower(strings.TrimSpace(name))
	i, ok := slices.BinarySearchFunc(s.skills, name, func(s *Skill, name string) int { return cmp.Compare(s.Name, name) })
	if ok {
		return s.skills[i]
	}
	var of *Skill // the only one that a plugin has by that name
	for _, skill := range s.skills {
		if skill.plugin != "" && skill.Name == strings.ToLower(skill.plugin)+":"+name {
			if of != nil {
				return nil
			}
			of = skill
		}
	}
	return of
}

// Diagnostics returns what is wrong with the files, in the order of files and lines.
func (s *Set) Diagnostics() []Diagnostic { return s.found }

// Load finds the skills of a workspace and of a user. root is the workspace's folder, without
// links. Empty means that the skills of this one are left out, as it does for home.
func Load(root, home string, plugins ...PluginFolder) *Set {
	l := &loader{byName: make(map[string]*Skill), folders: make(map[string]bool)}
	for _, f := range WorkspaceFolders {
		if root == "" {
			break
		}
		l.folder(f, filepath.Join(root, filepath.FromSlash(f)), root)
	}
	for _, p := range plugins {
		if root != "" && filepath.IsLocal(filepath.FromSlash(p.Folder)) {
			l.plugin = p.Plugin
			l.folder(p.Folder, filepath.Join(root, filepath.FromSlash(p.Folder)), root)
		}
	}
	l.plugin = ""
	for i, dir := range UserFolders(home) {
		l.folder("~/"+userFolders[i], dir, "")
	}
	s := &Set{found: l.found, looks: l.looks}
	for _, skill := range l.byName {
		s.skills = append(s.skills, skill)
	}
	slices.SortFunc(s.skills, func(a, b *Skill) int { return cmp.Compare(a.Name, b.Name) })
	diag.Sort(s.found)
	return s
}

// loader finds skills.
type loader struct {
	byName  map[string]*Skill
	folders map[string]bool // the real paths of those that were read
	found   []Diagnostic
	looks   []look
	full    bool
	plugin  string // whose folder is read; empty means no plugin's
}

func (l *loader) report(shown, code, fix, format string, args ...any) {
	l.found = append(l.found, diag.OfFile(shown, code, fix, fmt.Sprintf(format, args...)))
}

// look notes what is at a path, following links.
func (l *loader) look(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		info = nil
	}
	l.looks = append(l.looks, look{path, info})
	return info, err
}

// folder reads the skills in a folder. No link of one leads out of root; empty means it may.
func (l *loader) folder(shown, dir, root string) {
	info, err := l.look(dir)
	if err != nil || !info.IsDir() {
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			l.report(shown, diag.FileUnreadable, "", "the folder can't be read: %s", errtext.Of(err))
		}
		return
	}
	names, more, err := namesIn(dir, root, shown)
	if err != nil {
		l.report(shown, diag.FileUnreadable, "", "the folder can't be read: %s", errtext.Of(err))
		return
	}
	if !l.first(dir) { // a link to one that was read
		return
	}
	if more {
		l.report(shown, diag.FolderTooLarge, "remove what is no skill", "the folder has more than %d entries; the rest is not read", maxEntries)
	}
	for _, name := range names {
		at := path.Join(shown, termtext.OneLine(name, termtext.MaxLabel))
		within := ""
		if root != "" {
			within = path.Join(shown, name)
		}
		if !l.skill(at, filepath.Join(dir, name), root, within) {
			return
		}
	}
}

// first reports whether a folder has not been read by another name.
func (l *loader) first(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || l.folders[real] {
		return false
	}
	l.folders[real] = true
	return true
}

// namesIn returns the names in a folder in order, without hidden ones.
func namesIn(dir, root, within string) (names []string, more bool, err error) {
	folder, err := openFolder(root, within, dir)
	if err != nil {
		return nil, false, err
	}
	defer folder.Close()
	f, err := folder.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if more = len(entries) > maxEntries; more {
		entries = entries[:maxEntries]
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, more, nil
}

// skill reads the skill in a folder, if it is one. It reports false once there are too many.
func (l *loader) skill(shown, dir, root, within string) bool {
	file := filepath.Join(dir, FileName)
	info, err := l.look(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return true
	}
	shown = path.Join(shown, FileName)
	folder, err := openFolder(root, within, dir)
	if err != nil {
		l.report(shown, diag.FileUnreadable, "keep the folder within the workspace", "the skill is not read: %s", errtext.Of(err))
		return true
	}
	defer folder.Close()
	if !l.first(dir) { // not before it may be opened: a link must hide no skill of the user
		return true
	}
	data, err := boundedfile.ReadIn(folder, FileName, MaxFile)
	if err != nil {
		l.report(shown, diag.FileUnreadable, "make it a regular file in the skill's folder, and move long text to other files there", "the skill is not read: %s", errtext.Of(err))
		return true
	}
	s, found := Parse(shown, data)
	l.found = append(l.found, found...)
	if s != nil {
		s.plugin = l.plugin
		s.qualify()
	}
	switch {
	case s == nil:
		return true
	case l.byName[s.Name] != nil:
		l.report(shown, diag.SkillShadowed, "rename one of them, or remove it", "the skill %s of %s is before it, and counts", s.Name, l.byName[s.Name].File)
		return true
	case len(l.byName) == MaxSkills:
		if !l.full {
			l.report(shown, diag.FolderTooLarge, "remove skills that are not needed", "there are more than %d skills; this one and those after it are not used", MaxSkills)
		}
		l.full = true
		return false
	}
	s.Dir, s.root, s.within, s.User = dir, root, within, root == ""
	l.byName[s.Name] = s
	return true
}

// lookEvery is how often a [Library] looks for changes at most.
const lookEvery = time.Second

// Library has the current skills of a workspace and of a user. It is safe for concurrent use.
type Library struct {
	root, home string
	plugins    []PluginFolder
	log        *slog.Logger

	mu     sync.Mutex
	set    *Set
	looked time.Time
}

// NewLibrary returns the library of the folders of [Load]. Errors in files are logged, each once for each version of the
// files; log may be nil.
func NewLibrary(root, home string, log *slog.Logger, plugins ...PluginFolder) *Library {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Library{root: root, home: home, plugins: plugins, log: log}
}

// Current returns the skills as they are now, within a second. It is the same value until a
// file changes. l may be nil: there are none.
func (l *Library) Current() *Set {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.set != nil && now.Sub(l.looked) < lookEvery {
		return l.set
	}
	l.looked = now
	if l.set != nil && l.set.holds() {
		return l.set
	}
	l.set = Load(l.root, l.home, l.plugins...)
	for _, d := range l.set.found {
		if d.Severity == diag.Error {
			l.log.Warn("a skill is not used", "file", d.File, "line", d.Line, "why", d.Message)
		}
	}
	return l.set
}

// Root is the folder of the workspace. l may be nil.
func (l *Library) Root() string {
	if l == nil {
		return ""
	}
	return l.root
}

// Home is the user's home folder. l may be nil.
func (l *Library) Home() string {
	if l == nil {
		return ""
	}
	return l.home
}

// At returns the library of another folder with the files of the workspace, such as a
// worktree. l may be nil.
func (l *Library) At(root string) *Library {
	if l == nil || root == l.root || l.root == "" {
		return l
	}
	return NewLibrary(root, l.home, l.log, l.plugins...)
}

// holds reports whether the files are those that were read.
func (s *Set) holds() bool {
	return !slices.ContainsFunc(s.looks, func(l look) bool {
		info, err := os.Stat(l.path)
		if err != nil {
			info = nil
		}
		return !fileinfo.Same(info, l.info)
	})
}
