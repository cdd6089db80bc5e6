package offlinemodel

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// overview describes the repository by its top folder and its readme.
func (a *answer) overview() string {
	var b strings.Builder
	b.WriteString("No word of the question could be searched for, so this is what the repository holds.\n\n")
	if intro := a.readmeBegins(); intro != "" {
		b.WriteString(intro + "\n\n")
	}
	if l := a.listing(""); l != "" {
		b.WriteString(l)
	} else if len(a.ev.names) > 0 {
		for _, n := range a.ev.names[:min(len(a.ev.names), maxEntries)] {
			fmt.Fprintf(&b, "- %s\n", code(n))
		}
	}
	return b.String()
}

// readmeBegins is the first paragraph of the readme.
func (a *answer) readmeBegins() string {
	readme := a.readme()
	f := a.ev.files[readme]
	if f == nil || len(f.read) == 0 {
		return ""
	}
	if title, text := titleAndText(f); text != "" {
		return fmt.Sprintf("%s begins: %s“%s”", code(readme), title, text)
	}
	return ""
}

var decoration = regexp.MustCompile(`^\s*(?:\[!\[|!\[|<|\||---|===|\.\. |\[.*\]:)`)

// titleAndText returns the first heading of a document, and the beginning of
// the first paragraph below it.
func titleAndText(f *fileEvidence) (title, text string) {
	var lines []string
	for _, n := range slices.Sorted(maps.Keys(f.read)) {
		l := f.lines[n]
		m := heading.FindStringSubmatch(l)
		switch {
		case m != nil && len(lines) == 0:
			if title == "" {
				title = "**" + m[1] + "** "
			}
		case m != nil, strings.TrimSpace(l) == "" && len(lines) > 0:
			return title, firstSentences(lines)
		case decoration.MatchString(l), strings.TrimSpace(l) == "":
		default:
			lines = append(lines, l)
		}
	}
	return title, firstSentences(lines)
}

// listing shows what a folder holds; "" if it was not listed.
func (a *answer) listing(folder string) string {
	entries := a.ev.listings[folder]
	for _, n := range a.ev.names {
		if rest, ok := strings.CutPrefix(n, folder+"/"); ok && len(a.ev.listings[folder]) == 0 && !strings.Contains(rest, "/") {
			entries = append(entries, rest)
		}
	}
	if len(entries) == 0 {
		return ""
	}
	shown := make([]string, 0, maxEntries)
	for _, e := range entries[:min(len(entries), maxEntries)] {
		shown = append(shown, code(e))
	}
	more := ""
	if len(entries) > maxEntries {
		more = fmt.Sprintf(" and %d more", len(entries)-maxEntries)
	}
	title := "The top folder"
	if folder != "" {
		title = "The folder " + code(folder)
	}
	return fmt.Sprintf("%s holds %s%s.", title, strings.Join(shown, ", "), more)
}

// files describes the files that the prompt names.
func (a *answer) files() string {
	var sections []string
	for _, p := range a.q.paths {
		if !p.file {
			sections = append(sections, a.folder(p.path))
			continue
		}
		name := a.resolve(p)
		if f := a.ev.files[name]; f != nil && len(f.read) > 0 {
			sections = append(sections, a.file(name, f, p.line))
			continue
		}
		sections = append(sections, a.unread(p, name))
	}
	return strings.Join(sections, "\n\n")
}

// folder describes a folder: what it holds, and how the file begins that
// describes it.
func (a *answer) folder(name string) string {
	l := a.listing(name)
	if l == "" {
		return fmt.Sprintf("%s could not be listed.", code(name))
	}
	intro := a.researcher.introduction(name)
	if f := a.ev.files[intro]; f != nil {
		if text := opening(intro, f); text != "" {
			l += fmt.Sprintf(" %s begins: “%s”", code(intro), text)
		}
	}
	return l
}

// unread says that a file which the prompt names was not read.
func (a *answer) unread(p pathRef, name string) string {
	for _, f := range a.ev.failed {
		if f.call.tool == "read_file" && (f.call.args.Path == p.path || f.call.args.Path == name) {
			verb := "could not be read"
			if f.denied() {
				verb = "may not be read here"
			}
			return fmt.Sprintf("%s %s.", code(p.path), verb)
		}
	}
	if f := a.ev.files[p.path]; f != nil {
		return fmt.Sprintf("%s is empty.", code(p.path))
	}
	return fmt.Sprintf("%s was not read.", code(p.path))
}

var contentAsked = regexp.MustCompile(`(?i)\b(read|show|print|cat|display|output|contents?)\b`)

// file describes a file: how long it is, what its first comment says, what it
// defines, and a piece of it.
func (a *answer) file(name string, f *fileEvidence, line int) string {
	var b strings.Builder
	size := ""
	if f.total > 0 {
		size = fmt.Sprintf(" has %s.", plural(f.total, "line"))
	}
	fmt.Fprintf(&b, "%s%s", code(name), size)
	if doc := opening(name, f); doc != "" {
		fmt.Fprintf(&b, " It begins: “%s”", doc)
	}
	b.WriteString("\n\n")
	outline, main := a.outline(name, f)
	switch {
	case line > 0 && f.read[line]:
		b.WriteString(a.excerpt(name, line))
	case contentAsked.MatchString(a.prompt) || outline == "":
		first := slices.Min(slices.Collect(maps.Keys(f.read)))
		b.WriteString(block(f, name, first, first+3*excerptLines-1, first))
	case main > 0:
		b.WriteString(block(f, name, main, main+2*excerptLines-1, main))
	}
	if outline != "" {
		b.WriteString("\n\n" + outline)
	}
	if used := imports(name, f); used != "" {
		b.WriteString("\n" + used)
	}
	return b.String()
}

// outline lists what a file defines. main is the line of what a reader wants to
// see first: main, else the first function or type; 0 for documents.
func (a *answer) outline(name string, f *fileEvidence) (text string, main int) {
	var b strings.Builder
	count := 0
	for _, n := range slices.Sorted(maps.Keys(f.read)) {
		d, ok := defines(name, f.lines[n])
		if !ok || d.strength < 0.6 || language(name) == "go" && indent(f.lines[n]) > 0 {
			continue
		}
		if d.strength > 0.8 && (main == 0 || d.name == "main") {
			main = n
		}
		if count++; count <= maxOutline {
			fmt.Fprintf(&b, "- %s — %s\n", code(fmt.Sprintf("%s:%d", name, n)), code(shorten(f.lines[n])))
		}
	}
	if count == 0 {
		return "", 0
	}
	if count > maxOutline {
		fmt.Fprintf(&b, "- and %d more\n", count-maxOutline)
	}
	title := "**What it defines**\n"
	if language(name) == "md" {
		title = "**Its sections**\n"
	}
	return title + b.String(), main
}

var (
	licenseWords = regexp.MustCompile(`(?i)copyright|licen[sc]e|spdx|all rights reserved|^\s*#!|^\s*//go:|^\s*// \+build|coding[:=]|eslint|use strict|generated`)
	importedName = regexp.MustCompile(`["']([\w@./:-]+)["']|^\s*(?:import|from|use|using)\s+([\w.:]+)|#\s*include\s*<([\w./]+)>`)
	goImportOnly = regexp.MustCompile(`^\s+(?:[\w.]+\s+)?"[\w.-]+(?:/[\w.-]+)*"\s*$`)
)

// opening returns the beginning of what a file says of itself: the comment it
// begins with, unless that is a licence, or a document's first paragraph.
func opening(name string, f *fileEvidence) string {
	if kindOf(name) == document {
		_, text := titleAndText(f)
		return text
	}
	var doc []string
	inString := false
	for _, n := range slices.Sorted(maps.Keys(f.read)) {
		l := f.lines[n]
		comment := isComment(name, l) || inString
		switch {
		case comment && licenseWords.MatchString(l):
			doc = nil
			continue
		case comment:
			doc = append(doc, l)
		case strings.TrimSpace(l) == "" && len(doc) == 0, importLine.MatchString(l) && len(doc) == 0, licenseWords.MatchString(l):
			continue
		default:
			return firstSentences(doc)
		}
		if isDocString(l) && strings.Count(l, `"""`)+strings.Count(l, `'''`) == 1 {
			inString = !inString
		}
		if n > 60 {
			break
		}
	}
	return firstSentences(doc)
}

// imports names what a file makes use of.
func imports(name string, f *fileEvidence) string {
	if kindOf(name) == document || kindOf(name) == dataFile {
		return ""
	}
	var names []string
	for _, n := range slices.Sorted(maps.Keys(f.read)) {
		l := f.lines[n]
		if !importLine.MatchString(l) && !(language(name) == "go" && goImportOnly.MatchString(l)) {
			continue
		}
		if m := importedName.FindStringSubmatch(l); m != nil {
			if used := m[1] + m[2] + m[3]; used != "" && !slices.Contains(names, code(used)) && !strings.HasPrefix(path.Base(used), ".") {
				names = append(names, code(used))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > maxOutline {
		more = fmt.Sprintf(" and %d more", len(names)-maxOutline)
		names = names[:maxOutline]
	}
	return "It imports " + strings.Join(names, ", ") + more + "."
}
