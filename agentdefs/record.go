package agentdefs

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/internal/fileinfo"
)

// record is what is known of a file.
type record struct {
	real    string
	info    fs.FileInfo // of when it was read; nil means nothing was read
	settled bool        // info has to change if the file does
	hash    [sha256.Size]byte
	latest  definition.Parsed  // what the file holds
	good    *definition.Parsed // the last version that could be served; nil means the file has had no agent since it was without one on purpose
	force   definition.Parsed  // what counts: latest, or good marked as stale

	// claims is the last name that the file had. It holds against agents of
	// folders before its own, so that what the file restricted does not come
	// back unrestricted. Empty means the file has a name, or never had one.
	claims string

	list       bool        // the file may hold several agents
	agents     []*record   // of such a file
	unknown    bool        // which agents such a file has is not known: it may restrict any
	references []reference // the files that it names, and that were read

	// unreachable says that the file's folder cannot be read: only what the file
	// last held is known.
	unreachable bool
}

// sameAs reports whether the file at s is surely the one that was read.
func (r *record) sameAs(s *scan.File) bool {
	return r.settled && r.real == s.Real && fileinfo.Same(r.info, s.Info)
}

// looksCut reports whether f may be the beginning of a file that is being
// written. A permission block cut before its last deny would let the agent do
// more than its author wrote. So only a file whose frontmatter is closed, and
// whose permission can be read, is taken at once.
func looksCut(f *definition.Parsed, before *record) bool {
	switch {
	case f.Empty, f.Has(diag.FrontmatterUnclosed):
		return true
	case f.Bare:
		return before != nil && !before.latest.Bare // it had a frontmatter
	}
	return f.Def == nil && !f.Disabled
}

// broken reports whether f is a file that went wrong, unlike one that is well
// formed and has no agent: no frontmatter, no description, or switched off. An
// empty one is what a program has left that could not write the rest.
func broken(f *definition.Parsed) bool {
	if f.Def != nil || f.Disabled {
		return false
	}
	if f.Empty {
		return true
	}
	for _, d := range f.Diagnostics {
		switch d.Code {
		case diag.DescriptionMissing, diag.ToolsNoneRecognized:
		case diag.EncodingInvalid, diag.EncodingNUL, diag.YAMLInvalid, diag.FrontmatterUnclosed:
			return true
		default:
			if d.Severity == Error {
				return true
			}
		}
	}
	return false
}

// lostItsEnd reports whether f's frontmatter is not closed while that of the last
// good version was: however long ago f was written, what is missing may be a deny.
func lostItsEnd(f *definition.Parsed, before *record) bool {
	return f.Has(diag.FrontmatterUnclosed) && before != nil && before.good != nil && !before.good.Has(diag.FrontmatterUnclosed)
}

// stale is f, which could be served, with what is wrong with the file today. It
// keeps its name and place: those of the file are of no version that counts.
func stale(f *definition.Parsed, diagnostics []Diagnostic, until, fix string) definition.Parsed {
	out := *f
	def := *f.Def
	def.Stale = true
	out.Def = &def
	out.Diagnostics = append(diagnostics[:len(diagnostics):len(diagnostics)],
		diag.OfFile(f.File, diag.AgentStale, fix, fmt.Sprintf("the earlier version of %q stays in force until %s", f.Name, until)))
	return out
}

// decide sets which version of r counts. before is what was known until now;
// deleted says that the file does not exist any more.
func (r *record) decide(before *record, deleted bool) {
	r.force = r.latest
	if r.latest.Name == "" && before != nil {
		r.claims = cmp.Or(before.force.Name, before.claims)
	}
	cut := lostItsEnd(&r.latest, before)
	switch {
	case r.latest.Def != nil && !cut:
		r.good = &r.latest
	case deleted || before == nil || before.good == nil || !cut && !broken(&r.latest):
	default:
		r.good = before.good
		r.force = stale(r.good, r.latest.Diagnostics, "the file is corrected", "correct the file, or remove it to stop the agent")
	}
}

// unsettled is r for a file that has to be read again in any case; nil for none.
func (r *record) unsettled() *record {
	if r == nil {
		return nil
	}
	out := *r
	out.settled = false
	return &out
}

// lastGood is r while the folder of its file cannot be read.
func (r *record) lastGood() *record {
	if r.unreachable {
		return r
	}
	out := *r
	out.unreachable, out.settled = true, false
	out.agents = nil
	for _, agent := range r.agents {
		out.agents = append(out.agents, agent.lastGood())
	}
	if r.force.Def != nil && !r.force.Def.Stale {
		out.force = stale(&r.force, r.force.Diagnostics, "its folder can be read again", "make its folder readable, or remove it to stop the agent")
	}
	return &out
}

// writingTime is how long a file that looks half-written is given to be
// completed, from its last change on.
const writingTime = 100 * time.Millisecond
