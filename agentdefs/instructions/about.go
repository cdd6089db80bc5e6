package instructions

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/fileglob"
	"github.com/agentworker/worker/internal/termtext"
)

// maxFolders bounds the folders above a path that are looked into.
const maxFolders = 32

// About returns the files of the folders above a path, the nearest last, and then the rules about
// it, each with what it imports. It leaves out what all agents are given. name is relative to the
// workspace, slash-separated. may decides about each file, as in [Set.Keep]. s may be nil.
func (s *Set) About(name string, may func(path string) error) (files []*File) {
	if s == nil || s.tree == nil || !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil
	}
	l := &loader{tree: s.tree, seen: s.all}
	var folders []string
	for dir := path.Dir(path.Clean(name)); dir != "." && len(folders) < maxFolders; dir = path.Dir(dir) {
		folders = append(folders, dir)
	}
	for _, dir := range slices.Backward(folders) {
		for _, base := range names {
			if !s.reads(base.kind) {
				continue
			}
			f, imports := l.file(path.Join(dir, base.path), nil)
			if f != nil {
				files = append(files, l.fresh(files, append([]*File{f}, imports...))...)
			}
		}
	}
	for _, rules := range s.scoped {
		if slices.ContainsFunc(rules[0].globs, func(g *fileglob.Glob) bool { return g.Match(path.Clean(name)) }) {
			files = append(files, l.fresh(files, rules)...)
		}
	}
	kept, _ := keep(files, may)
	return kept
}

// fresh returns the files that are neither among some nor given to all agents. The
// first is left out if it says nothing but what it imports.
func (l *loader) fresh(some, files []*File) (left []*File) {
	for i, f := range files {
		if !l.has(slices.Concat(some, left), f) && (i > 0 || !onlyImports(f.Content)) {
			if f.real == "" {
				named := *f
				named.real = strings.TrimPrefix(f.Name, l.shown) // rules decide about its name, too, since it lies below the top
				f = &named
			}
			left = append(left, f)
		}
	}
	return left
}

// Note returns the text that a model reads when a call first touches a file that this one is about.
func (f *File) Note() string {
	about := "files below " + path.Dir(f.Name)
	switch {
	case f.By != "":
		about = "the same files as " + f.By + ", which imports it"
	case len(f.patterns) > 0:
		about = "the files " + termtext.OneLine(strings.Join(f.patterns, ", "), termtext.MaxLine)
	}
	cut := ""
	if f.Cut {
		cut = "\n[It is cut off here.]"
	}
	return "What this workspace says to all agents about " + about + ". Where it differs from what you were told of all files, it counts:\n\n" + f.Content + cut
}
