package agentdefs

import (
	"slices"
	"strings"
)

// keep adds to s the files, as they were known, of folders that can't be read
// now: a built-in agent of the same name must not come back because of that.
func (s *scan) keep(were *files) {
	for i := range s.listings {
		l := &s.listings[i]
		if len(l.lost) == 0 {
			continue
		}
		found := make(map[string]bool, len(l.files)) // another way may lead to a file
		for _, f := range l.files {
			found[f.shown] = true
		}
		for key, r := range were.records {
			if key.folder == i && !found[key.shown] && slices.ContainsFunc(l.lost, func(at lost) bool { return at.known && at.holds(key.shown) }) {
				l.files = append(l.files, source{shown: key.shown, kept: r.keep()})
			}
		}
		slices.SortFunc(l.files, func(a, b source) int { return strings.Compare(a.shown, b.shown) })
	}
}

// holds reports whether what is shown as path is below at, or at itself.
func (at lost) holds(path string) bool {
	rest, ok := strings.CutPrefix(path, at.shown)
	return ok && (at.shown == "" || rest == "" || rest[0] == '/')
}

// keep is r while the folder of its file can't be read.
func (r *record) keep() *record {
	if r.kept {
		return r
	}
	out := *r
	out.kept, out.settled = true, false
	if r.force.def != nil && !r.force.def.Stale {
		out.force = r.force.stale(r.force.diagnostics, "its folder can be read again", "make its folder readable, or remove it to stop the agent")
	}
	return &out
}
