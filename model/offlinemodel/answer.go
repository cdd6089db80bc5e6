package offlinemodel

import (
	"cmp"
	"fmt"
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
	maxEntries     = 40 // of a folder, or of what a file defines
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
	var text string
	switch {
	case a.prompt == "":
		text = "There is no question in this conversation."
	case a.step == 0 && a.concluding:
		text = "No tool may be called any more, and nothing has been looked up yet: the question stays open. It comes down to: " + a.subject() + "."
	case a.step == 0:
		text = "The repository cannot be looked into: none of the tools grep, glob, list_dir and read_file that the question needs is offered. It comes down to: " + a.subject() + "."
	case a.aboutPaths():
		var sections []string
		for _, p := range a.q.paths {
			sections = append(sections, a.described(p))
		}
		text = strings.Join(sections, "\n\n")
	default:
		text = a.search()
	}
	return strings.TrimSpace(text + "\n\n" + a.problems())
}

// search answers with places.
func (a *answer) search() string {
	places := a.chosen()
	var missing []string
	for i, t := range a.q.terms {
		if t.strong() && a.found[i] == 0 {
			missing = append(missing, code(t.text))
		}
	}
	if len(places) == 0 {
		return strings.TrimSpace(strings.ReplaceAll("Nothing was found for "+strings.Join(missing, ", ")+".", " for .", ".") + "\n\n" + a.listing(""))
	}
	best := places[0]
	text := a.finding(best)
	if doc := a.docOf(best); doc != "" {
		text += ": “" + doc + "”"
	}
	if excerpt := a.excerpt(best); excerpt != "" {
		text += "\n\n" + excerpt
	}
	for i, p := range places[1:] {
		if i == 0 && a.q.usage {
			text += "\n\n**Uses**"
		} else if i == 0 {
			text += "\n\n**Other places**"
		}
		text += "\n- " + a.finding(p)
	}
	switch {
	case best.topic && a.q.topic.name == "overview":
		text += "\n\n" + a.listing("")
	case !best.topic && len(missing) > 0:
		text += "\n\nNot found anywhere: " + strings.Join(missing, ", ") + "."
	}
	return text
}

// chosen selects what to show of the ranked places.
func (a *answer) chosen() (out []place) {
	perFile := map[string]int{}
	for _, p := range a.places {
		close := func(o place) bool {
			return o.path == p.path && (max(o.line-p.line, p.line-o.line) <= 2 && !a.q.usage || o.text == p.text)
		}
		switch {
		case len(out) == maxFindings, p.kind == "private" && !slices.ContainsFunc(a.q.paths, func(q pathRef) bool { return q.path == p.path }),
			perFile[p.path] == maxPerFile && !a.q.usage, p.line == 0 && perFile[p.path] > 0, slices.ContainsFunc(out, close),
			len(out) > 0 && p.score < leastScore*out[0].score && (len(out) > 4 || p.kind == "foreign" || out[0].topic):
			continue
		}
		perFile[p.path]++
		out = append(out, p)
	}
	return out
}

// finding is a place, its line, and what it is in.
func (a *answer) finding(p place) string {
	if p.line == 0 {
		return code(p.path)
	}
	where := ""
	if d, line := a.enclosing(p.path, p.line); line > 0 && line != p.line {
		where = fmt.Sprintf(" (in %s)", code(d.name))
	}
	return fmt.Sprintf("%s — %s%s", code(fmt.Sprintf("%s:%d", p.path, p.line)), code(shorten(p.text)), where)
}

// listing shows what a folder holds; "" if that is not known.
func (a *answer) listing(folder string) string {
	entries, title := slices.Clone(a.ev.listings[folder]), "The folder "+code(folder)
	for _, n := range a.ev.names {
		if rest, ok := strings.CutPrefix(n, strings.TrimPrefix(folder+"/", "/")); ok && len(a.ev.listings[folder]) == 0 {
			if first, _, deeper := strings.Cut(rest, "/"); deeper {
				rest = first + "/"
			}
			entries = append(entries, rest)
		}
	}
	if entries = slices.Compact(entries); len(entries) == 0 {
		return ""
	}
	if folder == "" {
		title = "The top folder"
	}
	more := ""
	if n := len(entries) - maxEntries; n > 0 {
		more, entries = fmt.Sprintf(" and %d more", n), entries[:maxEntries]
	}
	for i, e := range entries {
		entries[i] = code(e)
	}
	return title + " holds " + strings.Join(entries, ", ") + more + "."
}

var contentAsked = regexp.MustCompile(`(?i)\b(read|show|print|cat|display|output|contents?)\b`)

// described describes a file or a folder that the prompt names.
func (a *answer) described(p pathRef) string {
	name := cmp.Or(a.ev.resolve(p.path), p.path)
	f := a.ev.files[name]
	switch {
	case f != nil && len(f.read) > 0:
	case a.listing(p.path) != "":
		text := a.listing(p.path)
		for n, f := range a.ev.files {
			if doc := opening(n, f); path.Dir(n) == p.path && len(f.read) > 0 && doc != "" {
				text += fmt.Sprintf(" %s begins: “%s”", code(n), doc)
			}
		}
		return text
	case slices.ContainsFunc(a.ev.failed, func(f failure) bool { return f.call.args.Path == p.path && f.denied() }):
		return code(p.path) + " may not be read here."
	case f != nil && f.whole:
		return code(p.path) + " is empty."
	case !p.sure:
		return ""
	default:
		return code(p.path) + " could not be read."
	}
	text, main := code(name), 0
	if f.total > 0 {
		text += fmt.Sprintf(" has %s.", plural(f.total, "line"))
	}
	if doc := opening(name, f); doc != "" {
		text += " It begins: “" + doc + "”"
	}
	outline := "\n\n**What it defines**"
	for n := range f.inOrder() {
		d, ok := defines(name, f.lines[n])
		if !ok || d.strength < 0.6 || language(name) == "go" && indent(f.lines[n]) > 0 || strings.Count(outline, "\n") > maxEntries {
			continue
		}
		if d.strength > 0.8 && (main == 0 || d.name == "main") {
			main = n
		}
		outline += "\n- " + a.finding(place{path: name, line: n, text: f.lines[n]})
	}
	first := cmp.Or(max(p.line-3, 0), main, 1)
	if contentAsked.MatchString(a.prompt) && p.line == 0 {
		first = 1
	}
	text += "\n\n" + f.block(name, first, first+2*excerptLines)
	if main > 0 {
		text += outline
	}
	return text
}

// problems tells what was cut, denied, failed, or kept back.
func (a *answer) problems() string {
	var lines []string
	for _, f := range a.ev.failed {
		if !f.denied() && slices.ContainsFunc(a.q.paths, func(p pathRef) bool {
			return p.path == f.call.args.Path && (!p.sure || a.ev.resolve(p.path) != "" || a.listing(p.path) != "")
		}) {
			continue // a guess that was none
		}
		line := code(f.call.tool)
		if f.call.args.Path != "" {
			line += " of " + code(f.call.args.Path)
		}
		if f.denied() {
			line += " was denied: " + f.reason
		} else {
			line += " failed: " + f.reason
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	lines = append(lines, a.ev.leftOut...)
	var cut []string
	for _, t := range a.q.searched() {
		if a.ev.cut[a.pattern(t)] && !a.topicAnswers() {
			cut = append(cut, code(t.text))
		}
	}
	if len(cut) > 0 {
		lines = append(lines, "there is more of "+strings.Join(cut, ", ")+" than the searches show; the likely folders and files were searched again")
	}
	if n := len(lines) - maxProblems; n > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("%d more", n))
	}
	if len(lines) == 0 {
		return ""
	}
	return "**What could not be looked at**\n- " + strings.Join(lines, "\n- ")
}
