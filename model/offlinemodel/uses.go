package offlinemodel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// target is what a prompt asks the uses of.
type target struct {
	text  string         // as in the prompt
	name  string         // without what qualifies it
	uses  *regexp.Regexp // matches lines
	lines int            // how many are known
	cut   bool           // there are more
}

// target returns what the prompt asks the uses of; false if it does not ask for
// uses, or none were found. Where the name stands as it is written, the lines
// that write it in another way do not count.
func (r *researcher) target() (target, bool) {
	if !r.q.usage {
		return target{}, false
	}
	counts := r.ranker.lines
	best := -1
	for i, t := range r.q.terms {
		if !t.weak && counts[i] > 0 && (best < 0 || t.weight > r.q.terms[best].weight) {
			best = i
		}
	}
	if best < 0 || r.q.terms[best].weight < weightCompound && len(r.q.strong()) > 1 {
		return target{}, false // several words: they are better ranked together
	}
	t := r.q.terms[best]
	out := target{text: t.text, uses: t.match, lines: counts[best], cut: r.ev.cut[t.pattern]}
	parts := qualifiers.Split(strings.TrimSuffix(t.text, "()"), -1)
	out.name = parts[len(parts)-1]
	if exact, err := regexp.Compile(`(?:^|[^\pL\pN_])` + regexp.QuoteMeta(strings.TrimSuffix(t.text, "()")) + `(?:$|[^\pL\pN_])`); err == nil {
		if n := r.ev.count(exact); n > 0 {
			out.uses, out.lines = exact, n
		}
	}
	return out, true
}

// count returns how many lines match.
func (ev *evidence) count(re *regexp.Regexp) int {
	n := 0
	for _, f := range ev.files {
		for _, text := range f.lines {
			if re.MatchString(text) {
				n++
			}
		}
	}
	return n
}

// count is the sentence that says how often the name was found.
func (t *target) count() string {
	if t.cut {
		return fmt.Sprintf("%s stands on more than %s.", code(t.text), plural(t.lines, "line"))
	}
	return fmt.Sprintf("%s stands on %s.", code(t.text), plural(t.lines, "line"))
}

// defines reports whether a place defines the target.
func (t *target) defines(p *place) bool {
	return p.isDef && (p.def.name == t.name || strings.HasSuffix(p.def.name, "."+t.name)) && p.def.strength > 0.2
}

// rank sorts what is shown of the target: its definition, then code, then what
// is said of it.
func (t *target) rank(p *place) int {
	switch {
	case t.defines(p):
		return 0
	case isComment(p.path, p.text):
		return 2
	}
	return 1
}

// findings is a group of places under a title.
type findings struct {
	title  string
	places []place
}

// grouped sorts places into groups, each in order, and adds the uses of what
// is defined at the best place.
func (a *answer) grouped(places []place) []findings {
	t, wantsUses := a.target()
	groups := map[string][]place{}
	for _, p := range places {
		title := "Elsewhere"
		switch {
		case wantsUses && t.defines(&p):
			title = "Defined"
		case p.kind == source && wantsUses:
			title = "Used"
		case p.kind == source:
			title = "In the code"
		case p.kind == testFile:
			title = "In tests"
		case p.kind == document:
			title = "In documents"
		}
		groups[title] = append(groups[title], p)
	}
	uses := "Used"
	if name := followed(a.ev); name != "" && !wantsUses {
		uses = "Uses of " + code(name)
		groups[uses] = a.usesOf(name, places)
	}
	var out []findings
	for _, title := range []string{"Defined", "In the code", uses, "In tests", "In documents", "Elsewhere"} {
		if len(groups[title]) > 0 {
			out = append(out, findings{title, groups[title]})
		}
	}
	return out
}

// usesOf returns lines with a name that are neither its definition nor among
// the places: those in the code first.
func (a *answer) usesOf(name string, known []place) []place {
	re, err := regexp.Compile(usesPattern(regexp.QuoteMeta(name)))
	if err != nil {
		return nil
	}
	var out []place
	for _, file := range slices.Sorted(maps.Keys(a.ev.files)) {
		kind := kindOf(file)
		if kind != source && kind != testFile {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(a.ev.files[file].lines)) {
			text := a.ev.files[file].lines[n]
			d, isDef := defines(file, text)
			if !re.MatchString(text) || isComment(file, text) || isDef && d.name == name ||
				slices.ContainsFunc(known, func(p place) bool { return p.path == file && p.line == n }) {
				continue
			}
			out = append(out, place{path: file, line: n, text: text, kind: kind})
		}
	}
	slices.SortStableFunc(out, func(x, y place) int { return int(x.kind) - int(y.kind) })
	return out[:min(len(out), maxUses)]
}
