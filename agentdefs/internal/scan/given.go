package scan

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Given finds the agent files at paths: files, or folders with all below them.
// Files that would be served together share a listing. It also returns how many
// files there are, and what is wrong with folders. An error means that one of
// paths does not exist or cannot be looked at.
func Given(d *disk.Disk, paths []string) (s *Scan, files int, found []diag.Diagnostic, err error) {
	s = &Scan{follower: newFollower(d, nil)}
	together := map[string][]File{}
	seen := map[string]bool{}
	for _, given := range paths {
		shown := filepath.ToSlash(filepath.Clean(given))
		abs, err := filepath.Abs(given)
		if err != nil {
			return nil, 0, nil, fmt.Errorf("checking %s: %w", given, err)
		}
		real, info, err := s.resolve(abs)
		if err != nil {
			return nil, 0, nil, fmt.Errorf("checking %s: %w", given, err)
		}
		l := Listing{Files: []File{{Shown: shown, Real: real, Info: info, Form: dialect.ListForm(shown)}}}
		if info.IsDir() {
			l = Listing{}
			s.list(&l, dialect.Folder{Shown: shown, Nested: true}, real, info)
			s.hidden(&l, shown, real, info)
		}
		found = append(found, l.Diagnostics...)
		for _, f := range l.Files {
			if f.Err == nil && seen[f.Real] {
				continue
			}
			seen[f.Real] = true
			key := collection(f.Shown)
			together[key] = append(together[key], f)
			files++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(together)) {
		s.Listings = append(s.Listings, Listing{Files: together[key]})
	}
	return s, files, found, nil
}

// collection is the folder that a file is served with: the innermost "agents"
// folder above it, else its own.
func collection(file string) string {
	dir := path.Dir(file)
	for at := dir; strings.Contains(at, "/"); at = path.Dir(at) {
		if path.Base(at) == "agents" {
			return at
		}
		if at == "/" {
			break
		}
	}
	return dir
}

// lintDepth is how far below a folder dot folders that hold agents are found.
const lintDepth = 8

// hidden adds the agent files in dot folders below the folder at real, which
// other walks pass over.
func (s *Scan) hidden(l *Listing, shown, real string, info fs.FileInfo) {
	walkPackages(s.disk, real, lintDepth, false, nil, func(dir string) {
		for _, f := range agentFolders {
			at := path.Join(dir, f.Shown)
			is, err := s.disk.IsFolder(filepath.Join(real, filepath.FromSlash(at)))
			if err != nil {
				l.Diagnostics = append(l.Diagnostics, unreadable(path.Join(shown, at), err))
			}
			if !is {
				continue
			}
			if found, info, err := s.follow(real, info, at); err == nil {
				f.Shown = path.Join(shown, at)
				s.list(l, f, found, info)
			}
		}
		for _, list := range agentLists {
			at := path.Join(dir, list.Shown)
			if found, info, err := s.follow(real, info, at); err == nil && info.Mode().IsRegular() {
				l.Files = append(l.Files, File{Shown: path.Join(shown, at), Real: found, Info: info, Form: list.Form})
			}
		}
	})
}

// agentLists are all files of several agents that a workspace may have.
var agentLists = func() (all []dialect.List) {
	for _, o := range dialect.All {
		all = append(all, o.Lists...)
	}
	return all
}()

// agentFolders are all folders of agent files that a workspace may have.
var agentFolders = func() []dialect.Folder {
	all := slices.Clone(dialect.WorkspaceFolders)
	for _, o := range dialect.All {
		if !o.Home && !o.Nested && o.Name != "claude" {
			all = append(all, o.Folders...)
		}
	}
	return all
}()
