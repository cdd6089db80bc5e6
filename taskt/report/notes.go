package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
)

// maxNamed is how many paths a note names.
const maxNamed = 10

// NoCall is the note on an answer for which nothing was done.
const NoCall = "it has tools that change something, and called none"

// Notes returns what is wrong in an answer, for its readers. r is its report, nil for none.
func Notes(r *Report, w *record.Work) []string {
	var notes []string
	if w.Idle {
		notes = append(notes, NoCall)
	}
	for _, e := range w.Evidence {
		if !e.Found {
			notes = append(notes, fmt.Sprintf("EVIDENCE names %s:%d, which was not found: %s", termtext.OneLine(e.Path, termtext.MaxLabel), e.Line, termtext.OneLine(e.Why, termtext.MaxLabel)))
		}
	}
	if len(notes) > maxNamed {
		notes = append(notes[:maxNamed:maxNamed], fmt.Sprintf("%d more places that EVIDENCE names were not found", len(notes)-maxNamed))
	}
	if r == nil || r.Changes == "" {
		return notes
	}
	named := filePath.FindAllString(r.Changes, -1)
	if unwritten := paths(named, func(name string) bool { return !written(w, name) }); unwritten != "" && w.Untold == 0 && w.Omitted == 0 {
		notes = append(notes, "CHANGES names what no tool of the agent has written: "+unwritten)
	}
	var files []string
	for _, f := range w.Files {
		if f.Before != f.After {
			files = append(files, f.Path)
		}
	}
	unnamed := paths(files, func(file string) bool {
		return !slices.ContainsFunc(named, func(name string) bool { return same(file, name) })
	})
	if unnamed != "" {
		notes = append(notes, "CHANGES does not name what was written: "+unnamed)
	}
	return notes
}

// filePath is what looks like the path of a file: it has an extension.
var filePath = regexp.MustCompile(`(?:[\pL\pN_.@+-]*/)*[\pL\pN_@+-][\pL\pN_.@+-]*\.[A-Za-z][A-Za-z0-9]{0,7}\b`)

// paths lists the wanted ones of some paths.
func paths(all []string, wanted func(string) bool) string {
	all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !wanted(name) })
	slices.Sort(all)
	all = slices.Compact(all)
	more := ""
	if len(all) > maxNamed {
		all, more = all[:maxNamed], fmt.Sprintf(" and %d more", len(all)-maxNamed)
	}
	for i := range all {
		all[i] = termtext.OneLine(all[i], termtext.MaxLabel)
	}
	return strings.Join(all, ", ") + more
}

func written(w *record.Work, name string) bool {
	return slices.ContainsFunc(w.Files, func(f event.FileChange) bool { return same(f.Path, name) })
}

// same reports whether a text may name a file: as a whole, or by the end of its path.
func same(file, name string) bool {
	name = strings.TrimPrefix(name, "./")
	return file == name || strings.HasSuffix(name, "/"+file) || strings.HasSuffix(file, "/"+name)
}
