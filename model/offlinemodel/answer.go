package offlinemodel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Bounds of an answer.
const (
	maxFindings  = 10
	maxPerFile   = 2
	leastScore   = 0.25 // of the best one's
	maxShownLine = 140  // characters
	maxEntries   = 40   // of a folder
	excerptLines = 14
)

// answer is the last turn of a search, in Markdown, without the closing note:
// the best place and what stands there, other places, and what went wrong.
func (r *researcher) answer(prompt string) string {
	text := ""
	switch {
	case prompt == "":
		return "There is no question in this conversation."
	case r.step == 0:
		return "The repository cannot be looked into: no tool for that may be called. The question stays open: " + r.subject() + "."
	default:
		text = r.findings()
	}
	for _, p := range r.q.paths {
		if len(r.besides()) > 0 {
			break // they only say where to look
		}
		f := r.ev.files[r.ev.resolve(p.path)]
		if list := r.listing(p.path); list != "" {
			text = list + "\n\n" + text
		} else if p.sure && (f == nil || len(f.read) == 0) {
			text = code(p.path) + " could not be read.\n\n" + text
		}
	}
	if n := len(r.ev.problems); n > 0 {
		text += fmt.Sprintf("\n\nNot everything could be looked at (%d): %s", n, strings.Join(r.ev.problems[:min(n, 2)], "; "))
	}
	return strings.TrimSpace(text)
}

// findings answers with places.
func (r *researcher) findings() (text string) {
	var missing []string
	for i, t := range r.q.terms {
		if !t.weak && r.found[i] == 0 {
			missing = append(missing, code(t.text))
		}
	}
	for i, p := range r.chosen() {
		switch {
		case i == 0 || p.score > knownScore*1.5: // the prompt names it
			text += r.finding(p) + "\n\n" + r.excerpt(p) + "\n\n"
		case i == 1:
			text += "**Other places**\n- " + r.finding(p)
		default:
			text += "\n- " + r.finding(p)
		}
	}
	absent := strings.Join(missing, ", ")
	switch {
	case text == "" && len(r.q.paths) == 0:
		return "Nothing was found for " + absent + ".\n\n" + r.listing("")
	case r.knows() && r.q.topic != nil && r.q.topic.name == "overview":
		text = strings.TrimSpace(text) + "\n\n" + r.listing("")
	case !r.knows() && absent != "":
		text = strings.TrimSpace(text) + "\n\nNot found anywhere: " + absent + "."
	}
	return text
}

// chosen selects what to show of the ranked places.
func (r *researcher) chosen() (out []place) {
	perFile, usage := map[string]int{}, r.q.asks("usage")
	for _, p := range r.places {
		like := func(o place) bool {
			return o.path == p.path && (max(o.line-p.line, p.line-o.line) <= 2 && !usage || o.text == p.text)
		}
		named := slices.ContainsFunc(r.q.paths, func(q pathRef) bool { return q.path == p.path })
		weak := len(out) > 0 && p.score < leastScore*out[0].score && (len(out) > 4 || p.kind == "foreign" || out[0].known)
		full := len(out) == maxFindings || perFile[p.path] == maxPerFile && !usage || p.line == 0 && perFile[p.path] > 0
		if p.kind == "private" && !named || weak || full || slices.ContainsFunc(out, like) {
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
	if name, line := r.enclosing(p.path, p.line); line > 0 && line != p.line {
		where = " (in " + code(name) + ")"
	}
	return code(fmt.Sprintf("%s:%d", p.path, p.line)) + " — " + code(shorten(strings.Join(strings.Fields(p.text), " "))) + where
}

// listing shows what a folder holds; "" if that is not known.
func (r *researcher) listing(folder string) string {
	entries := r.ev.listings[folder]
	if len(entries) == 0 {
		return ""
	}
	var shown []string
	for _, e := range entries[:min(len(entries), maxEntries)] {
		shown = append(shown, code(e))
	}
	if n := len(entries) - maxEntries; n > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", n))
	}
	title := "The folder " + code(folder)
	if folder == "" {
		title = "The top folder"
	}
	return title + " holds " + strings.Join(shown, ", ") + "."
}

// enclosing returns the name and the line of what a line of a file belongs to:
// the function, type or section around it, or the one that it is a comment of.
// 0: it is not known.
func (r *researcher) enclosing(file string, line int) (string, int) {
	f := r.ev.files[file]
	if f == nil {
		return "", 0
	}
	n := line
	for f.read[n] && isComment(file, f.lines[n]) {
		n++
	}
	if d, ok := defines(file, f.lines[n]); ok && f.read[n] && (d.body || n > line) {
		return d.name, n
	}
	depth, text := indent(f.lines[line]), language(file) == "md" || language(file) == "ini"
	for n := line - 1; n > 0 && f.read[n]; n-- {
		l := f.lines[n]
		if strings.TrimSpace(l) == "" || indent(l) >= depth && !text {
			continue
		}
		if d, ok := defines(file, l); ok && d.body {
			return d.name, n
		}
		if !strings.ContainsAny(l[:1], "){") {
			depth = indent(l)
		}
	}
	return "", 0
}

// indent returns how far a line is indented, a tab counting as four.
func indent(line string) int {
	line = strings.ReplaceAll(line, "\t", "    ")
	return len(line) - len(strings.TrimLeft(line, " "))
}

// excerpt returns the lines around a place, as far as they were read: those of
// the section, or of the function from the comment above it on.
func (r *researcher) excerpt(p place) string {
	f := r.ev.files[p.path]
	if f == nil || !f.read[p.line] {
		return ""
	}
	if p.kind == "document" {
		return f.block(p.path, p.line, f.sectionEnd(p.path, p.line))
	}
	first := max(p.line-3, 1)
	if _, at := r.enclosing(p.path, p.line); at > p.line-excerptLines/2 && !p.known {
		first = min(at, p.line)
	}
	last := first + excerptLines - 1
	for first > 1 && last-first < 2*excerptLines && isComment(p.path, f.lines[first-1]) {
		first--
	}
	return f.block(p.path, first, last)
}

// sectionEnd returns the last line of the section that a line of a document
// begins: it ends before the next heading, or some lines further on.
func (f *fileEvidence) sectionEnd(name string, start int) int {
	fenced := false
	for n := start + 1; n < start+2*excerptLines; n++ {
		l := strings.TrimSpace(f.lines[n])
		fenced = fenced != strings.HasPrefix(l, "```")
		if !f.read[n] || !fenced && strings.HasPrefix(l, "#") && language(name) == "md" {
			return n - 1
		}
	}
	return start + 2*excerptLines
}

// block returns the lines from first to last, as far as they were read, as a
// block of code.
func (f *fileEvidence) block(file string, first, last int) string {
	var lines []string
	for n := first; n <= last; n++ {
		l := strings.TrimRight(f.lines[n], " \t")
		if f.read[n] && (l != "" || len(lines) > 0 && lines[len(lines)-1] != "") {
			lines = append(lines, shorten(l))
		}
	}
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	marks := fence(text, 3)
	return marks + notLetters.ReplaceAllString(extension(file), "") + "\n" + text + "\n" + marks
}

var (
	ticks      = regexp.MustCompile("`+")
	notLetters = regexp.MustCompile(`[^a-z0-9]`)
)

// fence returns more backticks in a row than s has, and at least as many as least.
func fence(s string, least int) string {
	for _, run := range ticks.FindAllString(s, -1) {
		least = max(least, len(run)+1)
	}
	return strings.Repeat("`", least)
}

// code writes s as inline code of Markdown.
func code(s string) string {
	if f := fence(s, 1); s == "" || len(f) > 1 {
		return f + " " + s + " " + f
	}
	return "`" + s + "`"
}

// shorten returns as much of a line as is shown.
func shorten(s string) string {
	if r := []rune(s); len(r) > maxShownLine {
		return string(r[:maxShownLine]) + "…"
	}
	return s
}
