package record

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
)

// Work is what a session has done, as its tools and the permission gate report it. Nothing
// of it comes from what a model says. The work of its subagents is in their records.
type Work struct {
	ToolCalls int `json:"toolCalls"`        // all calls of the model
	Failed    int `json:"failed,omitempty"` // the calls with an error, denied ones included
	Denied    int `json:"denied,omitempty"` // the calls that rules or a person denied: they did not run

	// Untold is how many calls may have changed something that no tool reports: shell
	// commands. Their changes are not among Files.
	Untold int `json:"untold,omitempty"`

	// Files are the files that file tools have changed, by path. Each has its state before
	// the session's first change, and after its last one.
	Files []event.FileChange `json:"files,omitempty"`

	// Omitted is how many changes are left out of Files.
	Omitted int `json:"omitted,omitempty"`

	// Checks are the session's checks, each with its last outcome.
	Checks []event.Check `json:"checks,omitempty"`

	// Idle says that a subagent has completed without a tool call, although it had tools
	// that change something.
	Idle bool `json:"idle,omitempty"`

	// Evidence is what the answer gives as evidence, each place looked up.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is a place in a file that an answer names.
type Evidence struct {
	Path  string `json:"path"`
	Line  int    `json:"line"`
	Found bool   `json:"found"`
	Why   string `json:"why,omitempty"` // why it was not found
}

// MaxFiles is how many files [Work] names.
const MaxFiles = 500

// IsZero reports whether nothing was done.
func (w Work) IsZero() bool {
	return w.ToolCalls == 0 && w.Failed == 0 && len(w.Checks) == 0 && len(w.Evidence) == 0 && !w.Idle
}

// Add returns w with the outcome of a call. It does not change w.
func (w Work) Add(ev event.ToolCallEnd) Work {
	w.ToolCalls++
	if ev.IsError {
		w.Failed++
	}
	if ev.Refused {
		w.Denied++
	}
	if ev.Untold {
		w.Untold++
	}
	for _, c := range ev.Changes {
		w.change(c)
	}
	return w
}

func (w *Work) change(c event.FileChange) {
	at, found := slices.BinarySearchFunc(w.Files, c.Path, func(f event.FileChange, path string) int { return strings.Compare(f.Path, path) })
	switch {
	case found:
		files := slices.Clone(w.Files)
		if c.After == files[at].Before && c.Before != files[at].After { // parallel calls end in any order
			files[at].Before = c.Before
		} else {
			files[at].After = c.After
		}
		w.Files = files
	case len(w.Files) >= MaxFiles:
		w.Omitted++
	default:
		w.Files = slices.Insert(slices.Clone(w.Files), at, c)
	}
}

// Checked returns w with the outcome of a check, which replaces the previous one.
func (w Work) Checked(c event.Check) Work {
	at := slices.IndexFunc(w.Checks, func(o event.Check) bool { return o.Path == c.Path && o.Command == c.Command })
	w.Checks = slices.Clone(w.Checks)
	if at < 0 {
		w.Checks = append(w.Checks, c)
	} else {
		w.Checks[at] = c
	}
	return w
}
