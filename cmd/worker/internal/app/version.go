package app

import (
	"cmp"
	"runtime/debug"
)

// stamped is the version that a packager builds with, where there is no repository:
// -ldflags "-X github.com/agentworker/worker/cmd/worker/internal/app.stamped=1.2.3".
var stamped string

// Version returns the program's version, as its build has it: what it was stamped with, else
// that of the module, else the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return stamped
	}
	version := stamped
	if v := info.Main.Version; v != "(devel)" {
		version = cmp.Or(version, v)
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version = cmp.Or(version, s.Value[:min(8, len(s.Value))])
		}
	}
	return cmp.Or(version, "devel")
}
