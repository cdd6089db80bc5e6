package offlinemodel

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Bounds of an answer.
const (
	maxFindings    = 10
	maxPerFile     = 2
	leastScore     = 0.25 // of the best one's
	maxShownLine   = 140  // characters
	excerptLines   = 14
	maxProblems    = 6
	maxEntries     = 40 // of a folder
	maxOutline     = 14
	maxQuotedWords = 45
)

// answer is the last turn of a search, in Markdown: the best place and what
// stands there, then other places, then what could not be looked at.
type answer struct {
	*researcher
	prompt     string
	concluding bool // no tool may be called
}

// markdown writes the answer, without the closing note.
func (a *answer) markdown() string {
	var sections []string
	switch {
	case a.prompt == "":
		sections = append(sections, "There is no question in this conversation.")
	case a.step == 0 && a.concluding:
		sections = append(sections, "No tool may be called any more, and nothing has been looked up yet: the question stays open. It comes down to: "+a.subject()+".")
	case a.step == 0:
		sections = append(sections, "The repository cannot be looked into: none of the tools grep, glob, list_dir and read_file that the question needs is offered. It comes down to: "+a.subject()+".")
	case a.aboutPaths():
		sections = append(sections, a.files())
	default:
		sections = append(sections, a.search())
	}
	if p := a.problems(); p != "" {
		sections = append(sections, p)
	}
	return strings.Join(sections, "\n\n")
}

// search answers with places.
func (a *answer) search() string {
	places := a.chosen()
	if len(places) == 0 {
		return a.nothing()
	}
	best := places[0]
	var b strings.Builder
	b.WriteString(a.finding(best))
	if doc := a.docOf(best); doc != "" {
		fmt.Fprintf(&b, ": “%s”", doc)
	}
	b.WriteString("\n")
	if text := a.excerpt(best); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	if len(places) > 1 {
		title := "Other places"
		if a.q.usage {
			title = "Uses"
		}
		fmt.Fprintf(&b, "\n**%s**\n", title)
		for _, p := range places[1:] {
			b.WriteString("- " + a.finding(p) + "\n")
		}
	}
	if a.q.topic != nil && a.q.topic.name == "overview" && best.topic {
		b.WriteString("\n" + a.listing("") + "\n")
	}
	var missing []string
	for i, t := range a.q.terms {
		if !t.weak && t.pair == "" && a.found[i] == 0 && !best.topic {
			missing = append(missing, code(t.text))
		}
	}
	if len(missing) > 0 {
		b.WriteString("\nNot found anywhere: " + strings.Join(missing, ", ") + ".\n")
	}
	return strings.TrimSpace(b.String())
}

// chosen selects what to show of the ranked places.
func (a *answer) chosen() []place {
	perFile := map[string]int{}
	var out []place
	for _, p := range a.places {
		most := maxPerFile
		if a.q.usage {
			most = maxFindings
		}
		switch {
		case len(out) > 0 && p.score < leastScore*out[0].score && (len(out) > 4 || p.kind == foreign):
			continue
		case p.kind == private && !slices.Contains(a.named(), p.path), perFile[p.path] == most, p.line == 0 && perFile[p.path] > 0:
			continue
		case slices.ContainsFunc(out, func(o place) bool {
			return o.path == p.path && (max(o.line-p.line, p.line-o.line) <= 2 && !a.q.usage || o.text == p.text)
		}):
			continue
		}
		perFile[p.path]++
		if out = append(out, p); len(out) == maxFindings {
			break
		}
	}
	return out
}

// finding is a place, its line, and what it is in.
func (a *answer) finding(p place) string {
	if p.line == 0 {
		return code(p.path)
	}
	where := ""
	if d, line, ok := a.enclosing(p.path, p.line); ok && line != p.line {
		where = fmt.Sprintf(" (in %s)", code(d.name))
	}
	return fmt.Sprintf("%s — %s%s", code(fmt.Sprintf("%s:%d", p.path, p.line)), code(shorten(p.text)), where)
}

// nothing says that the search was in vain, for what, and what there is.
func (a *answer) nothing() string {
	var names []string
	for _, t := range a.q.searched() {
		names = append(names, code(t.text))
	}
	what := ""
	if len(names) > 0 {
		what = " for " + strings.Join(names, ", ")
	}
	return strings.TrimSpace("Nothing was found" + what + ".\n\n" + a.listing(""))
}

// listing shows what a folder holds; "" if that is not known.
func (a *answer) listing(folder string) string {
	entries := slices.Clone(a.ev.listings[folder])
	if len(entries) == 0 {
		for _, n := range a.ev.names {
			if rest, ok := strings.CutPrefix(n, strings.TrimPrefix(folder+"/", "/")); ok {
				if first, _, deeper := strings.Cut(rest, "/"); deeper {
					rest = first + "/"
				}
				entries = append(entries, rest)
			}
		}
		entries = slices.Compact(entries)
	}
	if len(entries) == 0 {
		return ""
	}
	more := ""
	if n := len(entries) - maxEntries; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	for i, e := range entries {
		entries[i] = code(e)
	}
	title := "The top folder"
	if folder != "" {
		title = "The folder " + code(folder)
	}
	return fmt.Sprintf("%s holds %s%s.", title, strings.Join(entries[:min(len(entries), maxEntries)], ", "), more)
}

// files describes the files and folders that the prompt names.
func (a *answer) files() string {
	var sections []string
	for _, p := range a.q.paths {
		name := a.ev.resolve(p.path)
		f := a.ev.files[cmpOr(name, p.path)]
		switch {
		case f != nil && len(f.read) > 0:
			sections = append(sections, a.file(cmpOr(name, p.path), f, p.line))
		case a.listing(p.path) != "":
			sections = append(sections, a.listing(p.path)+a.introduction(p.path))
		case p.sure && f != nil && f.whole:
			sections = append(sections, code(p.path)+" is empty.")
		case p.sure && slices.ContainsFunc(a.ev.failed, func(f failure) bool { return f.call.args.Path == p.path && f.denied() }):
			sections = append(sections, code(p.path)+" may not be read here.")
		case p.sure:
			sections = append(sections, code(p.path)+" could not be read.")
		}
	}
	return strings.Join(sections, "\n\n")
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// introduction says how the file begins that introduces a folder, if it was read.
func (a *answer) introduction(folder string) string {
	for name, f := range a.ev.files {
		if path.Dir(name) == folder && len(f.read) > 0 {
			if text := opening(name, f); text != "" {
				return fmt.Sprintf(" %s begins: “%s”", code(name), text)
			}
		}
	}
	return ""
}

var contentAsked = regexp.MustCompile(`(?i)\b(read|show|print|cat|display|output|contents?)\b`)

// file describes a file: how long it is, what it says of itself, what it
// defines, and a piece of it.
func (a *answer) file(name string, f *fileEvidence, line int) string {
	var b strings.Builder
	b.WriteString(code(name))
	if f.total > 0 {
		fmt.Fprintf(&b, " has %s.", plural(f.total, "line"))
	}
	if doc := opening(name, f); doc != "" {
		fmt.Fprintf(&b, " It begins: “%s”", doc)
	}
	var outline []string
	main := 0
	for _, n := range slices.Sorted(maps.Keys(f.read)) {
		d, ok := defines(name, f.lines[n])
		if !ok || d.strength < 0.6 || language(name) == "go" && indent(f.lines[n]) > 0 {
			continue
		}
		if d.strength > 0.8 && (main == 0 || d.name == "main") {
			main = n
		}
		outline = append(outline, fmt.Sprintf("- %s — %s", code(fmt.Sprintf("%s:%d", name, n)), code(shorten(f.lines[n]))))
	}
	last := line + excerptLines
	if line == 0 {
		line, last = main, main+2*excerptLines
	} else {
		line = max(line-3, 1)
	}
	if contentAsked.MatchString(a.prompt) || line == 0 || !f.read[line] {
		line = slices.Min(slices.Collect(maps.Keys(f.read)))
		last = line + 3*excerptLines
	}
	b.WriteString("\n\n" + block(f, name, line, last))
	if n := len(outline) - maxOutline; n > 0 {
		outline = append(outline[:maxOutline], fmt.Sprintf("- and %d more", n))
	}
	if len(outline) > 0 {
		b.WriteString("\n\n**What it defines**\n" + strings.Join(outline, "\n"))
	}
	return b.String()
}

// problems tells what was cut, denied, failed, or kept back.
func (a *answer) problems() string {
	var lines []string
	add := func(l string) {
		if !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	for _, f := range a.ev.failed {
		if !f.denied() && slices.ContainsFunc(a.q.paths, func(p pathRef) bool {
			return p.path == f.call.args.Path && (!p.sure || a.ev.resolve(p.path) != "" || a.listing(p.path) != "")
		}) {
			continue // a guess that was none
		}
		verb, of := "failed", ""
		if f.denied() {
			verb = "was denied"
		}
		if f.call.args.Path != "" {
			of = " of " + code(f.call.args.Path)
		}
		add(fmt.Sprintf("- %s%s %s: %s", code(f.call.tool), of, verb, f.reason))
	}
	for _, l := range a.ev.leftOut {
		add("- " + l)
	}
	var cut []string
	for _, t := range a.q.searched() {
		if a.ev.cut[a.grep(t, "", "").args.Pattern] && !a.topicAnswers() {
			cut = append(cut, code(t.text))
		}
	}
	if len(cut) > 0 {
		add("- there is more of " + strings.Join(cut, ", ") + " than the searches show; the likely folders and files were searched again")
	}
	if n := len(lines) - maxProblems; n > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("- %d more", n))
	}
	if len(lines) == 0 {
		return ""
	}
	return "**What could not be looked at**\n" + strings.Join(lines, "\n")
}
