package offlinemodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of an answer.
const (
	maxFindings    = 10
	maxPerFile     = 3
	maxUses        = 4
	leastScore     = 0.3 // of the best one's
	maxShownLine   = 140 // characters
	excerptAbove   = 4
	excerptLines   = 14
	maxProblems    = 6
	maxEntries     = 40 // of a folder
	maxOutline     = 14
	maxQuotedWords = 45
)

// answer is the last turn of a search, in Markdown.
type answer struct {
	*researcher
	prompt string
}

// markdown writes the answer, without the closing note.
func (a *answer) markdown() string {
	var sections []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			sections = append(sections, s)
		}
	}
	switch {
	case a.prompt == "":
		add("There is no question in this conversation.")
	case a.step == 0 && a.concluding:
		add("No tool may be called any more, and nothing has been looked up yet, so the question stays open: " + a.lookedFor())
	case a.step == 0:
		add("The repository cannot be looked into: none of the tools grep, glob, list_dir and read_file that the question needs is offered. " + a.lookedFor())
	case len(a.searched()) == 0 && len(a.q.paths) == 0:
		add(a.overview())
	case a.aboutPaths():
		add(a.files())
	default:
		add(a.search())
	}
	add(a.problems())
	return strings.Join(sections, "\n\n")
}

// lookedFor says what the question comes down to.
func (a *answer) lookedFor() string {
	if s := a.subject(); s != "an overview" {
		return "It comes down to: " + s + "."
	}
	return "No word in it could be searched for."
}

// search answers with places.
func (a *answer) search() string {
	places := a.places()
	if len(places) == 0 {
		return a.nothing()
	}
	best := places[0]
	var b strings.Builder
	b.WriteString(a.lead(best))
	if doc := a.docOf(best); doc != "" {
		fmt.Fprintf(&b, " The comment there says: “%s”", doc)
	}
	if len(places) > 1 && !a.q.usage {
		fmt.Fprintf(&b, " Next comes %s.", code(at(places[1])))
	}
	b.WriteString("\n\n")
	if text := a.excerpt(best.path, best.line); text != "" {
		b.WriteString(text + "\n\n")
	}
	for _, g := range a.grouped(places) {
		fmt.Fprintf(&b, "**%s**\n", g.title)
		for _, p := range g.places {
			b.WriteString(a.finding(p))
		}
		b.WriteString("\n")
	}
	if missing := a.missing(); missing != "" {
		b.WriteString(missing + "\n")
	}
	return b.String()
}

// lead is the sentence that names the best place.
func (a *answer) lead(best place) string {
	var b strings.Builder
	where := ""
	switch d, line, ok := a.enclosing(best.path, best.line); {
	case ok && line > best.line:
		where = fmt.Sprintf(", on %s at %s", code(d.name), code(fmt.Sprintf("%s:%d", best.path, line)))
	case ok && line < best.line:
		where = fmt.Sprintf(", in %s", code(d.name))
	}
	if t, ok := a.target(); ok {
		b.WriteString(t.count())
		if t.defines(&best) {
			fmt.Fprintf(&b, " It seems to be defined at %s.", code(at(best)))
		} else {
			fmt.Fprintf(&b, " The best match is %s%s.", code(at(best)), where)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "The best match is %s%s", code(at(best)), where)
	if names := a.names(best.near); names != "" {
		fmt.Fprintf(&b, ", with %s", names)
	}
	b.WriteString(".")
	return b.String()
}

// names lists the terms of a set, as the prompt has them; the weak ones only
// where there are no others.
func (a *answer) names(set termSet) string {
	var strong, weak []string
	for i, t := range a.q.terms {
		switch {
		case !set.has(i):
		case t.weak:
			weak = append(weak, t.text)
		default:
			strong = append(strong, t.text)
		}
	}
	if len(strong) == 0 {
		strong = weak
	}
	return strings.Join(strong, ", ")
}

// places selects what to show of the ranked places.
func (a *answer) places() []place {
	t, wantsUses := a.target()
	perFile := map[string]int{}
	var out []place
	for _, p := range a.rank {
		switch {
		case wantsUses && !t.uses.MatchString(p.text) && !t.defines(&p):
			continue
		case len(out) > 0 && !wantsUses && p.score < leastScore*out[0].score:
			return out
		case p.kind == private && !slices.ContainsFunc(a.q.paths, func(q pathRef) bool { return q.path == p.path }):
			continue
		case perFile[p.path] == maxPerFile:
			continue
		}
		if !wantsUses && slices.ContainsFunc(out, func(o place) bool {
			return o.path == p.path && (max(o.line-p.line, p.line-o.line) <= 2 || o.text == p.text)
		}) {
			continue
		}
		perFile[p.path]++
		if out = append(out, p); len(out) == maxFindings {
			break
		}
	}
	if wantsUses {
		slices.SortStableFunc(out, func(x, y place) int { return t.rank(&x) - t.rank(&y) })
	}
	return out
}

// finding is a place as an item of a list.
func (a *answer) finding(p place) string {
	where := ""
	switch d, line, ok := a.enclosing(p.path, p.line); {
	case ok && line > p.line:
		where = fmt.Sprintf(" (on %s)", code(d.name))
	case ok && line < p.line:
		where = fmt.Sprintf(" (in %s)", code(d.name))
	}
	return fmt.Sprintf("- %s — %s%s\n", code(at(p)), code(shorten(p.text)), where)
}

// missing names the terms that were not found.
func (a *answer) missing() string {
	counts := a.ranker.lines
	var names []string
	for i, t := range a.q.terms {
		if !t.weak && counts[i] == 0 {
			names = append(names, code(t.text))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Not found anywhere: " + strings.Join(names, ", ") + "."
}

// nothing says that the search was in vain, for what, and what there is.
func (a *answer) nothing() string {
	var b strings.Builder
	var names []string
	for _, t := range a.searched() {
		names = append(names, code(t.text))
	}
	b.WriteString("Nothing was found")
	if len(names) > 0 {
		fmt.Fprintf(&b, " for %s", strings.Join(names, ", "))
	}
	b.WriteString(".")
	if files := a.namesByWorth(); len(files) > 0 {
		b.WriteString(" Files whose names come near:\n\n")
		for _, f := range files[:min(len(files), maxFindings)] {
			fmt.Fprintf(&b, "- %s\n", code(f))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(a.ev.listings)) {
		b.WriteString("\n\n" + a.listing(folder))
	}
	return b.String()
}
