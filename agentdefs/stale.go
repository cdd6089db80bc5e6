package agentdefs

import (
	"cmp"
	"fmt"
	"time"
)

// writingTime is how long a file that looks half-written is given to be
// completed, from its last change on.
const writingTime = 100 * time.Millisecond

// looksCut reports whether f may be the beginning of a file that is being
// written. A permission block cut before its last deny would let the agent do
// more than its author wrote. So only a file whose frontmatter is closed, and
// whose permission can be read, is taken at once.
func (f *parsed) looksCut(before *record) bool {
	switch {
	case f.empty, f.says(codeFrontmatterUnclosed):
		return true
	case f.bare:
		return before != nil && !before.latest.bare // it had a frontmatter
	}
	return f.def == nil && !f.disabled
}

// broken reports whether f is a file that went wrong, unlike one that is well
// formed and has no agent: no frontmatter, no description, or switched off. An
// empty one is what a program has left that could not write the rest.
func (f *parsed) broken() bool {
	if f.def != nil || f.disabled {
		return false
	}
	if f.empty {
		return true
	}
	for _, d := range f.diagnostics {
		switch d.Code {
		case codeDescriptionMissing, codeToolsNoneRecognized:
		case codeEncodingInvalid, codeEncodingNUL, codeYAMLInvalid, codeFrontmatterUnclosed:
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
func (f *parsed) lostItsEnd(before *record) bool {
	return f.says(codeFrontmatterUnclosed) && before != nil && before.good != nil && !before.good.says(codeFrontmatterUnclosed)
}

func (f *parsed) says(code string) bool {
	for _, d := range f.diagnostics {
		if d.Code == code {
			return true
		}
	}
	return false
}

// decide sets what of r counts, where before was known until now. gone says
// that there is no such file any more.
func (r *record) decide(before *record, gone bool) {
	r.force = r.latest
	if r.latest.name == "" && before != nil {
		r.claims = cmp.Or(before.force.name, before.claims)
	}
	cut := r.latest.lostItsEnd(before)
	switch {
	case r.latest.def != nil && !cut:
		r.good = &r.latest
	case gone || before == nil || before.good == nil || !cut && !r.latest.broken():
	default:
		r.good = before.good
		r.force = r.good.stale(r.latest.diagnostics, "the file is corrected", "correct the file, or remove it to stop the agent")
	}
}

// stale is f, which could be served, with what is wrong with the file today. It
// keeps its name and place: those of the file are of no version that counts.
func (f *parsed) stale(diagnostics []Diagnostic, until, fix string) parsed {
	out := *f
	def := *f.def
	def.Stale = true
	out.def = &def
	out.diagnostics = append(diagnostics[:len(diagnostics):len(diagnostics)],
		finding(f.file, codeAgentStale, fix, fmt.Sprintf("the earlier version of %q stays in force until %s", f.name, until)))
	return out
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
