package app

import "runtime/debug"

// Version returns the program's version, as its build has it: that of the
// module, else the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(8, len(s.Value))]
		}
	}
	return "devel"
}
