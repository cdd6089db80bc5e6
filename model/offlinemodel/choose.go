package offlinemodel

import (
	"math/bits"
	"path"
	"slices"
	"strings"
)

// readme returns the file that introduces the repository; "": none is known.
func (r *researcher) readme() string {
	best := ""
	for _, name := range append(slices.Clone(r.ev.listings[""]), r.ev.names...) {
		if strings.HasPrefix(strings.ToLower(name), "readme") && !strings.Contains(name, "/") && (best == "" || extension(name) == "md") {
			best = name
		}
	}
	return best
}

// namedElsewhere reads the files that the prompt names without their folder,
// and those that describe the folders it names.
func (r *researcher) namedElsewhere() []call {
	var calls []call
	for _, p := range r.q.paths {
		if intro := r.introduction(p.path); !p.file && intro != "" && r.ev.files[intro] == nil {
			calls = append(calls, r.read(intro, 0))
		}
		if !p.file || r.ev.files[p.path] != nil {
			continue
		}
		if found := r.resolve(p); found != "" && r.ev.files[found] == nil {
			calls = append(calls, r.read(found, p.line))
		}
	}
	return calls
}

// introductions are the files in which a folder is described, the best first.
var introductions = []string{"readme.md", "readme", "readme.rst", "readme.txt", "doc.go", "__init__.py", "mod.rs", "lib.rs", "index.ts", "index.js", "package-info.java"}

// introduction returns the file that describes a folder which was listed; "":
// none is there.
func (r *researcher) introduction(folder string) string {
	for _, name := range introductions {
		for _, entry := range r.ev.listings[folder] {
			if strings.EqualFold(entry, name) {
				return path.Join(folder, entry)
			}
		}
	}
	return ""
}

// resolve returns the file that a path of the prompt means: itself, if it was
// read, else the one that ends like it and has the shortest path; "": none.
func (r *researcher) resolve(p pathRef) string {
	if r.ev.files[p.path] != nil && len(r.ev.files[p.path].read) > 0 {
		return p.path
	}
	best := ""
	for _, name := range r.ev.names {
		if name != p.path && !strings.HasSuffix(name, "/"+p.path) {
			continue
		}
		if best == "" || len(name) < len(best) {
			best = name
		}
	}
	return best
}

// namesByWorth returns the files whose names hold terms, the best first.
func (r *researcher) namesByWorth() []string {
	type named struct {
		name  string
		worth float64
	}
	var all []named
	for _, n := range r.ev.names {
		set := r.q.matches(n).set
		if set == 0 {
			continue
		}
		prior, kind := r.ranker.prior(n)
		if kind != private {
			all = append(all, named{n, prior * float64(bits.OnesCount32(uint32(set)))})
		}
	}
	slices.SortStableFunc(all, func(a, b named) int {
		switch {
		case a.worth > b.worth:
			return -1
		case a.worth < b.worth:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = n.name
	}
	return out
}
