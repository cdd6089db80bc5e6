package agentdefs

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Lint checks the agent files at paths, files or folders with all that is below
// them, wherever they are: nothing has to be served from there. Each file is
// checked by itself; those that would be served together, because they are in
// one folder or below the same "agents" folder, also for names that they share.
// It returns what it found, with files as they were given, and how many it read.
// An error means that one of paths does not exist or cannot be looked at.
func Lint(ctx context.Context, paths []string, opts *Options) (found []Diagnostic, files int, err error) {
	opts = opts.complete()
	disk := &disk{ctx, newGuard(opts.platform.callTime), &opts.platform}
	s := &scan{trail: newTrail(disk, nil)}
	together := map[string][]source{}
	seen := map[string]bool{}
	for _, given := range paths {
		shown := filepath.ToSlash(filepath.Clean(given))
		abs, err := filepath.Abs(given)
		if err != nil {
			return nil, 0, fmt.Errorf("checking %s: %w", given, err)
		}
		real, info, err := s.resolve(abs)
		if err != nil {
			return nil, 0, fmt.Errorf("checking %s: %w", given, err)
		}
		l := listing{files: []source{{shown: shown, real: real, info: info}}}
		if info.IsDir() {
			l = listing{}
			s.list(&l, folder{shown: shown, nested: true}, real, info)
			s.hidden(&l, shown, real, info)
		}
		found = append(found, l.diagnostics...)
		for _, f := range l.files {
			if f.err == nil && seen[f.real] {
				continue
			}
			seen[f.real] = true
			key := collection(f.shown)
			together[key] = append(together[key], f)
			files++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(together)) {
		s.listings = append(s.listings, listing{files: together[key]})
	}
	read := (&reader{opts: opts, disk: disk}).read(ctx, s)
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("checking agent files: %w", err)
	}
	for _, records := range read.ordered {
		m := newMerge(nil, nil)
		m.add(records)
		found = append(found, m.snapshot("").Diagnostics()...)
	}
	sortDiagnostics(found)
	return found, files, nil
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
func (s *scan) hidden(l *listing, shown, real string, info fs.FileInfo) {
	walkPackages(s.disk, real, lintDepth, false, nil, func(dir string) {
		for _, f := range agentFolders {
			at := path.Join(dir, f.shown)
			is, err := s.disk.isFolder(filepath.Join(real, filepath.FromSlash(at)))
			if err != nil {
				l.diagnostics = append(l.diagnostics, unreadable(path.Join(shown, at), err))
			}
			if !is {
				continue
			}
			if found, info, err := s.follow(real, info, at); err == nil {
				f.shown = path.Join(shown, at)
				s.list(l, f, found, info)
			}
		}
	})
}

// agentFolders are all folders of agent files that a workspace may have.
var agentFolders = func() []folder {
	all := slices.Clone(workspaceFolders)
	for _, o := range origins {
		if !o.home && !o.nested && o.name != "claude" {
			all = append(all, o.folders...)
		}
	}
	return all
}()
