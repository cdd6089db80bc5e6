package agentdefs

import (
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/scan"
)

// Unread is a folder of agent files that is there and not read.
type Unread = scan.Unread

// SayUnread says which folders are not read, in one sentence.
func SayUnread(folders []Unread) string { return scan.SayUnread(folders) }

// ReadHint says how to read folders that are not read.
func ReadHint(folders []Unread) string { return scan.ReadHint(folders) }

// Sources returns what [Options.From] may name, besides "all".
func Sources() []string {
	var names []string
	for _, d := range dialect.All {
		names = append(names, d.Name)
	}
	return names
}

// Folders returns the folders of a workspace in which agent files may be, of
// whichever tool, and the files that may hold several agents, relative to its root. Which of them are
// read, [Options] say.
func Folders() []string {
	var out []string
	add := func(folders []dialect.Folder) {
		for _, f := range folders {
			if !slices.Contains(out, f.Shown) {
				out = append(out, f.Shown)
			}
		}
	}
	add(dialect.WorkspaceFolders)
	for _, o := range dialect.All {
		if !o.Home && !o.Nested {
			add(o.Folders)
		}
		for _, l := range o.Lists {
			out = append(out, l.Shown)
		}
	}
	return out
}

// Places returns the folders in which agent files may be, whatever opts.From says: those that
// count in every folder of a workspace, which may be a package or the top of another one, and
// those that are read wherever the workspace is.
func (opts *Options) Places() (anywhere, elsewhere []string) {
	elsewhere = slices.Clone(opts.Dirs)
	if opts.UserDir != "" {
		elsewhere = append(elsewhere, opts.UserDir)
	}
	for _, o := range dialect.All {
		if o.Home && opts.ToolsHome != "" {
			for _, f := range o.Folders {
				elsewhere = append(elsewhere, filepath.Join(opts.ToolsHome, filepath.FromSlash(f.Shown)))
			}
		}
	}
	return Folders(), elsewhere
}
