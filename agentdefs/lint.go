package agentdefs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/internal/disk"
)

// Lint checks the agent files at paths: files, or folders with all below them.
// Nothing has to be served from there. Each file is checked by itself. Files
// that would be served together are also checked for shared names: files of one
// folder, or below the same "agents" folder. It returns what it found, with
// files as they were given, and how many it read. An error means that one of
// paths does not exist or cannot be looked at.
func Lint(ctx context.Context, paths []string, opts *Options) (found []Diagnostic, files int, err error) {
	opts = opts.complete()
	d := disk.New(ctx, disk.NewLimiter(opts.disk.Timeout), &opts.disk)
	s, files, found, err := scan.Given(d, paths)
	if err != nil {
		return nil, 0, err
	}
	read := (&reader{opts: opts, disk: d}).read(ctx, s)
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("checking agent files: %w", err)
	}
	for _, records := range read.ordered {
		m := newMerge(nil, nil)
		m.add(records)
		found = append(found, m.snapshot("").Diagnostics()...)
	}
	diag.Sort(found)
	return found, files, nil
}

// EachOnce returns diagnostics for people: a fault of YAML that was repaired is told once, with
// what was made of it.
func EachOnce(all []Diagnostic) (once []Diagnostic) {
	of := func(file, code string) func(Diagnostic) bool {
		return func(d Diagnostic) bool { return d.File == file && d.Code == code }
	}
	for _, d := range all {
		switch d.Code {
		case diag.FieldRepaired:
			if slices.ContainsFunc(all, of(d.File, diag.YAMLInvalid)) {
				continue
			}
		case diag.YAMLInvalid:
			for _, r := range all {
				if of(d.File, diag.FieldRepaired)(r) {
					d.Message, d.Fix = d.Message+"; "+strings.Replace(r.Message, " is not valid YAML; its", ": its", 1), r.Fix
				}
			}
		}
		once = append(once, d)
	}
	return once
}
