package instructions

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxFolders bounds the folders above a path that are looked into.
const maxFolders = 32

// About returns the files of the folders above a path, the nearest last, with what they import,
// and without what all agents are given. name is relative to the workspace, slash-separated. may is
// as in [Set.Keep], and decides about each file. s may be nil.
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
			f, imports := l.file(path.Join(dir, base), nil)
			if f != nil {
				files = append(files, l.fresh(files, append([]*File{f}, imports...))...)
			}
		}
	}
	kept, _ := keep(files, may)
	return kept
}

// fresh returns the files that are not among some, nor among those that all agents are given. The
// first is left out if it says nothing but what it imports.
func (l *loader) fresh(some, files []*File) (left []*File) {
	for i, f := range files {
		if !l.has(slices.Concat(some, left), f) && (i > 0 || !onlyImports(f.Content)) {
			if f.real == "" {
				named := *f
				named.real = strings.TrimPrefix(f.Name, l.shown) // its name decides as well: it is no file of the top
				f = &named
			}
			left = append(left, f)
		}
	}
	return left
}

// Note is what a model is told of the file once it has come to another one below its folder.
func (f *File) Note() string {
	about := "files below " + path.Dir(f.Name)
	if f.By != "" {
		about = "the same files as " + f.By + ", which imports it"
	}
	cut := ""
	if f.Cut {
		cut = "\n[It is cut off here.]"
	}
	return "What this workspace says to all agents about " + about + ". Where it differs from what you were told of all files, it counts:\n\n" + f.Content + cut
}
