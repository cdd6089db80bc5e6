package offlinemodel

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
)

// Bounds of an answer.
const (
	maxFindings  = 10
	maxPerFile   = 2
	leastScore   = 0.25 // of the best one's
	maxShownLine = 140  // characters
	maxEntries   = 40   // of a folder
	excerptLines = 14
	sectionLines = 28
)

// answer is the last turn of a search, in Markdown, without the closing note:
// the best place and what stands there, other places, and what went wrong.
func (r *researcher) answer() string {
	var out, others, missing []string
	for _, p := range r.q.paths {
		if len(r.beside) > 0 {
			break // they only say where to look
		}
		list := r.listing("The folder "+code(p.path), p.path)
		out = append(out, list)
		if p.sure && list == "" && len(r.ev.file(r.ev.resolve(p.path)).lines) == 0 {
			out = append(out, code(p.path)+" could not be read.")
		}
	}
	for i, p := range r.chosen() {
		if i == 0 || p.score > knownScore*1.5 { // the prompt names it
			out = append(out, r.finding(p), r.excerpt(p))
		} else {
			others = append(others, "- "+r.finding(p))
		}
	}
	if len(others) > 0 {
		out = append(out, "**Other places**\n"+strings.Join(others, "\n"))
	}
	for i, t := range r.q.terms {
		if !t.weak && r.found[i] == 0 {
			missing = append(missing, code(t.text))
		}
	}
	switch absent := strings.Join(missing, ", "); {
	case len(out) == 0:
		out = append(out, "Nothing was found for "+absent+".", r.listing("The top folder", ""))
	case r.knows() && r.topic.name == "overview":
		out = append(out, r.listing("The top folder", ""))
	case !r.knows() && absent != "":
		out = append(out, "Not found anywhere: "+absent+".")
	}
	if n := len(r.ev.problems); n > 0 {
		out = append(out, fmt.Sprintf("Not everything could be looked at (%d): %s", n, strings.Join(r.ev.problems[:min(n, 2)], "; ")))
	}
	return strings.Join(slices.DeleteFunc(out, func(s string) bool { return s == "" }), "\n\n")
}

// chosen selects what to show of the ranked places.
func (r *researcher) chosen() (out []place) {
	perFile, usage := map[string]int{}, r.q.asks("usage")
	for _, p := range r.places {
		like := func(o place) bool {
			return o.path == p.path && (o.text == p.text || !usage && max(o.line-p.line, p.line-o.line) <= 2)
		}
		weak := len(out) > 0 && p.score < leastScore*out[0].score && (len(out) > 4 || p.kind == "foreign" || out[0].known())
		full := len(out) == maxFindings || perFile[p.path] == maxPerFile && !usage || p.line == 0 && perFile[p.path] > 0
		if p.kind == "private" && !p.known() || weak || full || slices.ContainsFunc(out, like) {
			continue
		}
		perFile[p.path]++
		out = append(out, p)
	}
	return out
}

// finding is a place, its line, and what it is in.
func (r *researcher) finding(p place) string {
	if p.line == 0 {
		return code(p.path)
	}
	where := ""
	if n, name := r.ev.file(p.path).enclosing(language(p.path), p.line); n > 0 && n < p.line {
		where = " (in " + code(name) + ")"
	}
	return code(fmt.Sprintf("%s:%d", p.path, p.line)) + " — " + code(shorten(p.text)) + where
}

// listing shows what a folder holds; "" if that is not known.
func (r *researcher) listing(title, folder string) string {
	entries := r.ev.listings[folder]
	if len(entries) == 0 {
		return ""
	}
	return title + " holds `" + strings.Join(entries[:min(len(entries), maxEntries)], "`, `") + "`."
}

// enclosing returns the line that begins the function, type or section which a
// line belongs to, and its name; 0 means it is not known.
func (f *fileEvidence) enclosing(lang string, line int) (n int, name string) {
	for n = line; ; n-- {
		l, known := f.lines[n]
		if !known {
			return 0, ""
		}
		around := n == line || lang == "md" || indent(l) < indent(f.lines[line])
		if name, strength := defines(lang, l); strength > 0.6 && around {
			return n, name
		}
	}
}

// indent returns how far a line is indented.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// excerpt returns the known lines from a place on as a block of code: in code
// from shortly before it or the start of its function, and the comment above.
func (r *researcher) excerpt(p place) string {
	f, lang, first := r.ev.file(p.path), language(p.path), p.line
	if p.kind != "document" {
		first -= 3
		if n, _ := f.enclosing(lang, p.line); n > p.line-excerptLines/2 {
			first = n
		}
	}
	last := first + excerptLines - 1
	for p.kind != "document" && last-first < 2*excerptLines && isComment(lang, f.lines[first-1]) {
		first--
	}
	var lines []string
	for n := first; n <= last; n++ {
		if l, known := f.lines[n]; known {
			lines = append(lines, termtext.Cut(strings.TrimRight(l, " \t"), maxShownLine))
		}
	}
	if len(lines) < 2 {
		return ""
	}
	text := strings.Trim(strings.Join(lines, "\n"), "\n")
	marks := fence(text, "```")
	return marks + fenceName.FindString(path.Ext(p.path)) + "\n" + text + "\n" + marks
}

var fenceName = regexp.MustCompile(`\w+$`)

// fence returns marks and as many more backticks as s does not hold in a row.
func fence(s, marks string) string {
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks
}

// code writes s as inline code of Markdown.
func code(s string) string {
	if f := fence(s, "`"); s == "" || len(f) > 1 {
		return f + " " + s + " " + f
	}
	return "`" + s + "`"
}

// shorten returns as much of a text as is shown on a line.
func shorten(s string) string {
	return termtext.Cut(strings.Join(strings.Fields(s), " "), maxShownLine)
}
