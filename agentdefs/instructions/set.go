package instructions

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/fileglob"
	"github.com/agentworker/worker/internal/termtext"
)

// Bounds of what is read and given.
const (
	MaxBytes   = 32 << 10 // of the text of all files that an agent is given from the start
	MaxDepth   = 5        // of imports
	maxImports = 50       // of one file, with those of its imports
	maxRules   = 200      // files in the folders of rules
	maxEntries = 2000     // in such a folder, with all below it
)

// Diagnostic is one finding about a file of instructions.
type Diagnostic = diag.Diagnostic

// File is one file of instructions. Nobody changes it once it is read.
type File struct {
	Name    string // as people and models are shown it: relative to the workspace, slash-separated
	Content string // valid UTF-8 without blanks around it, at most [MaxBytes]; not empty
	Line    int    // where Content begins, from 1
	Cut     bool   // the file says more

	By   string // the file that imports it; empty means none does
	User bool   // it is the user's, and no file of the workspace

	patterns []string         // of the files that it is about, as written; nil means that it has no patterns
	globs    []*fileglob.Glob // of patterns

	real string      // where its name leads, in a workspace; empty means that it is no link, and no import
	info fs.FileInfo // of the file
}

// Last is the line in which Content ends.
func (f *File) Last() int { return f.Line + strings.Count(f.Content, "\n") }

// LeftOut is a file that is not given.
type LeftOut struct{ Name, Why string }

// Set is what a workspace says at one moment. Nobody changes it.
type Set struct {
	Given   []*File   // to all agents, in their order; nil means there is nothing
	LeftOut []LeftOut // what is not given, and why

	all    []*File   // as Given, without the bound
	scoped [][]*File // rules about some files, each followed by what it imports
	kinds  []string
	found  []Diagnostic
	looks  []look
	tree   *tree // nil means that it has no files
}

// reads reports whether the files of a kind are read.
func (s *Set) reads(kind string) bool { return slices.Contains(s.kinds, kind) }

// Diagnostics returns what is wrong with the files. s may be nil.
func (s *Set) Diagnostics() []Diagnostic {
	if s == nil {
		return nil
	}
	return s.found
}

// Warnings tells people who start an agent what it is not given. s may be nil.
func (s *Set) Warnings() (all []string) {
	for _, d := range s.Diagnostics() {
		if d.Code == diag.InstructionsLong || d.Code == diag.InstructionsUnread {
			all = append(all, d.File+": "+d.Message)
		}
	}
	return all
}

// NoRoom are the names of the files that are not given since others need the room.
func (s *Set) NoRoom() (names []string) {
	for _, l := range s.LeftOut {
		if l.Why == tooLong {
			names = append(names, l.Name)
		}
	}
	return names
}

// bound gives the files that have room, and says which have none.
func (s *Set) bound() {
	room := MaxBytes
	var cut, left []string
	for _, f := range s.all {
		if len(f.Content) > room {
			short := *f
			short.Content, short.Cut = head(f.Content, room), true
			f, room = &short, 0
		}
		if f.Content == "" {
			left = append(left, f.Name)
			s.LeftOut = append(s.LeftOut, LeftOut{f.Name, tooLong})
			continue
		}
		if f.Cut {
			cut = append(cut, f.Name)
		}
		room = max(0, room-len(f.Content))
		s.Given = append(s.Given, f)
	}
	if len(cut)+len(left) == 0 {
		return
	}
	message := fmt.Sprintf("the instructions of the workspace are longer than %d KiB", MaxBytes>>10)
	if len(cut) > 0 {
		message += ": agents are given the beginning of " + strings.Join(cut, ", ")
	}
	if len(left) > 0 {
		message += "; they are not given " + strings.Join(left, ", ")
	}
	s.found = append(s.found, diag.OfFile(append(cut, left...)[0], diag.InstructionsLong, "shorten them, or move text to files that agents read when they need it", message))
}

// tooLong is why a file has no room.
const tooLong = "there is no room for it"

// head returns the whole lines at the beginning of a text that have room.
func head(text string, room int) string {
	text = termtext.Head(text, room)
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// Chosen reports whether files are given that links or imports lead to, about which a session's
// rules decide. s may be nil.
func (s *Set) Chosen() bool {
	return s != nil && slices.ContainsFunc(s.all, func(f *File) bool { return f.real != "" })
}

// Keep returns the set without the files that may refuses, and without their imports. may decides
// about each file that a link or an import leads to; its path is relative to the workspace. If it
// refuses none, the set is the same. s may be nil.
func (s *Set) Keep(may func(path string) error) *Set {
	if !s.Chosen() || !slices.ContainsFunc(s.all, func(f *File) bool { return f.real != "" && may(f.real) != nil }) {
		return s
	}
	kept := &Set{scoped: s.scoped, kinds: s.kinds, looks: s.looks, tree: s.tree}
	for _, l := range s.LeftOut {
		if l.Why != tooLong {
			kept.LeftOut = append(kept.LeftOut, l)
		}
	}
	for _, d := range s.found {
		if d.Code != diag.InstructionsLong {
			kept.found = append(kept.found, d)
		}
	}
	var refused []LeftOut
	kept.all, refused = keep(s.all, may)
	for _, l := range refused {
		kept.LeftOut = append(kept.LeftOut, l)
		kept.found = append(kept.found, diag.OfFile(l.Name, diag.InstructionsUnread, "", "it is not given to the agent: "+l.Why))
	}
	kept.bound()
	return kept
}

// keep returns the files that may be given, in their order.
func keep(files []*File, may func(path string) error) (kept []*File, refused []LeftOut) {
	gone := make(map[string]bool)
	for _, f := range files {
		why := ""
		if gone[f.By] {
			why = f.By + " is not given, which imports it"
		} else if f.real != "" {
			if err := may(f.real); err != nil {
				why = errtext.Of(err)
			}
		}
		if why == "" {
			kept = append(kept, f)
			continue
		}
		gone[f.Name] = true
		refused = append(refused, LeftOut{f.Name, why})
	}
	return kept, refused
}
