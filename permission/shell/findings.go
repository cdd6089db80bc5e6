package shell

import (
	"strings"

	"github.com/agentworker/worker/permission"
)

// The tools whose rules are about files.
const (
	readFile  = "read_file"
	writeFile = "write_file"
	editFile  = "edit_file"
)

// findings are the values that an analysis has found.
type findings struct {
	tool   string // that of commands
	values []permission.Value
	seen   map[permission.Value]bool
	bytes  int // of values
	full   bool
}

func newFindings(tool string) findings {
	return findings{tool: tool, seen: map[permission.Value]bool{}}
}

// add adds a value once.
func (f *findings) add(v permission.Value) {
	if f.seen[v] {
		return
	}
	if f.bytes += len(v.Text) + len(v.Written); len(f.values) >= maxValues || f.bytes > maxShellBytes {
		if !f.full {
			f.full = true
			f.values = append(f.values, permission.Value{Tool: f.tool, Text: "more than can be looked at", Certainty: permission.Unknown})
		}
		return
	}
	f.seen[v] = true
	f.values = append(f.values, v)
}

// unknown adds a value that nothing is known of but its text, and why.
func (f *findings) unknown(text, why string) {
	f.add(permission.Value{Tool: f.tool, Text: strings.TrimSpace(text), Certainty: permission.Unknown, Why: why})
}

// anyFile says that files may be opened which nothing names.
func (f *findings) anyFile() {
	f.add(permission.Value{Tool: readFile, Kind: permission.Mentioned, Certainty: permission.Unknown})
	f.add(permission.Value{Tool: writeFile, Kind: permission.Mentioned, Certainty: permission.Unknown})
}

// looks counts looks at the file system.
type looks int

// look counts n more, and reports whether there are any left.
func (l *looks) look(n int) bool {
	*l += looks(n)
	return *l <= maxLooks
}
