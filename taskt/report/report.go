// Package report reads answers in the five sections SUMMARY, CHANGES, EVIDENCE, RISKS and BLOCKERS.
// It checks them against other facts: whether the named places exist, and which files the tools of
// the agent have written.
package report

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Report is an answer in sections, each as Markdown without its heading. One that is
// not there is empty.
type Report struct {
	Summary  string `json:"summary,omitempty"`
	Changes  string `json:"changes,omitempty"`
	Evidence string `json:"evidence,omitempty"`
	Risks    string `json:"risks,omitempty"`
	Blockers string `json:"blockers,omitempty"`
}

// minSections is how many of the sections make an answer a report: many answers have one such
// heading.
const minSections = 3

// maxReport bounds the answers that are read, in bytes. Deep nesting costs time that grows faster
// than the answer.
const maxReport = 32 << 10

// blocks reads headings and paragraphs, and nothing within them.
var blocks = parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))

// Parse reads an answer; nil means it is no report. A section begins with its name: as a heading in
// any case, or in capitals with a colon at the start of a paragraph. Names in code, quotes and
// lists begin none. Of two sections with one name the last counts.
func Parse(answer string) *Report {
	if len(answer) > maxReport || !mayBeReport(answer) {
		return nil
	}
	source := []byte(answer)
	var r Report
	into := map[string]*string{
		"SUMMARY": &r.Summary, "CHANGES": &r.Changes, "EVIDENCE": &r.Evidence, "RISKS": &r.Risks, "BLOCKERS": &r.Blockers,
	}
	found := make(map[string]bool)
	var open *string
	begin := 0
	end := func(at int) {
		if open != nil {
			*open = strings.TrimSpace(string(source[begin:at]))
		}
	}
	doc := blocks.Parse(text.NewReader(source))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		m, ok := markOf(n, source)
		if !ok || into[m.name] == nil {
			continue
		}
		end(m.start)
		open, begin = into[m.name], m.body
		found[m.name] = true
	}
	end(len(source))
	if len(found) < minSections {
		return nil
	}
	return &r
}

// mayBeReport spares most answers the parser.
func mayBeReport(answer string) bool {
	upper := strings.ToUpper(answer)
	n := 0
	for _, name := range []string{"SUMMARY", "CHANGES", "EVIDENCE", "RISKS", "BLOCKERS"} {
		if strings.Contains(upper, name) {
			n++
		}
	}
	return n >= minSections
}

// mark is where a section may begin.
type mark struct {
	name        string
	start, body int // of the block, and of what belongs to the section
}

// inline is a first line that is a name and a colon, maybe in bold.
var inline = regexp.MustCompile(`^(?:\*\*|__)?([A-Z]{5,8})(?:(?:\*\*|__)[ \t]*:|:[ \t]*(?:\*\*|__)|:)`)

// heading is what a heading may have around the name.
var heading = regexp.MustCompile(`^[\s*_\d.)#]*(\pL+)[\s*_:#]*$`)

func markOf(n ast.Node, source []byte) (m mark, ok bool) {
	if n.Lines() == nil || n.Lines().Len() == 0 {
		return m, false
	}
	first, last := n.Lines().At(0), n.Lines().At(n.Lines().Len()-1)
	m.start = 1 + bytes.LastIndexByte(source[:first.Start], '\n')
	switch n.Kind() {
	case ast.KindHeading:
		found := heading.FindSubmatch(source[first.Start:last.Stop])
		if found == nil {
			return m, false
		}
		m.name = strings.ToUpper(string(found[1]))
		m.body = lineEnd(source, last.Stop-1)
		if bytes.TrimLeft(source[m.start:], " ")[0] != '#' { // its underline is a line of its own
			m.body = lineEnd(source, m.body)
		}
		return m, true
	case ast.KindParagraph:
		found := inline.FindSubmatchIndex(source[first.Start:])
		if found == nil {
			return m, false
		}
		m.name = string(source[first.Start+found[2] : first.Start+found[3]])
		m.body = first.Start + found[1]
		return m, true
	}
	return m, false
}

// lineEnd returns where the line behind the one with the byte at begins.
func lineEnd(source []byte, at int) int {
	if i := bytes.IndexByte(source[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(source)
}
