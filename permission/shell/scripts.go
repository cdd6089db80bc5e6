package shell

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/internal/program"
)

// Scripts returns the absolute paths of the files that a command line runs, each once: the
// programs with a slash in their names, and the files that interpreters are given. A file that
// is not certain is missing.
func Scripts(w permission.Workspace, command string) []string {
	a := &analysis{findings: newFindings("shell"), ws: w, home: w.HomeFolder()}
	a.script(&state{vars: map[string]text{}, cwd: cmp.Or(w.Dir, w.Root), funcs: map[string]function{}}, command)
	return a.scripts
}

// scripts are the files that a command line runs.
type scripts []string

// note adds the files that a command runs in the folder cwd; "" means that the folder is not
// certain.
func (s *scripts) note(cwd string, p *program.Program, v argv) {
	if name := v.word(0); strings.Contains(name, "/") {
		s.add(cwd, name)
	}
	most := 0
	switch p.Does {
	case program.DoesCode, "unknown": // source is one of the unknown
		most = 1
	case "subcommands":
		most = 2 // such as run, and a file
	}
	operands := v.operands(p)
	for _, word := range operands[:min(most, len(operands))] {
		if word.known {
			s.add(cwd, word.s)
		}
	}
}

// add adds a file that is run.
func (s *scripts) add(cwd, path string) {
	if !filepath.IsAbs(path) {
		if cwd == "" {
			return
		}
		path = filepath.Join(cwd, path)
	}
	if !slices.Contains(*s, path) {
		*s = append(*s, path)
	}
}
