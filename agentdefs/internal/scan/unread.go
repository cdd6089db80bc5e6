package scan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Unread is a folder of agent files that is there and not read.
type Unread struct {
	Folder string `json:"folder"` // as shown to people; a file of several agents, too
	Files  int    `json:"files"`  // how many agent files, or agents, it holds, 1,000 at most
	From   string `json:"from"`   // the name in [Options.From] that would read it
}

// FindUnread finds the folders that opts does not ask for. dir is the
// workspace's folder that is served; count returns how many agents a file of several has.
func FindUnread(d *disk.Disk, root string, opts Options, dir string, count func(path string, list dialect.List) int) []Unread {
	asked := dialect.From(opts.From)
	var out []Unread
	for _, o := range dialect.All {
		if slices.ContainsFunc(asked, func(have dialect.Dialect) bool { return have.Name == o.Name }) {
			continue
		}
		base, folders := root, o.Folders
		switch {
		case o.Home && opts.ToolsHome == "", o.Name == "claude": // that one has a diagnostic of its own
			continue
		case o.Home:
			base = opts.ToolsHome
		case o.Nested:
			folders = packageFolders(d, root, nil)
		case o.Plugins:
			folders = pluginFolders(d, root, nil)
		}
		for _, l := range o.Lists {
			if n := count(filepath.Join(root, filepath.FromSlash(l.Shown)), l); n > 0 {
				out = append(out, Unread{l.Shown, n, o.Name})
			}
		}
		for _, f := range folders {
			at := filepath.Join(base, filepath.FromSlash(f.Shown))
			shown := f.Shown
			if o.Home {
				shown = filepath.ToSlash(at)
			}
			if d.SameFolder(at, filepath.Join(root, filepath.FromSlash(dir))) {
				continue
			}
			n := countAgentFiles(d, at, shown, f, nil)
			if n == 0 && f.Plugin != "" && dialect.IsAgentFile(f.Shown) && d.Exists(at) {
				n = 1
			}
			if n > 0 {
				out = append(out, Unread{shown, n, o.Name})
			}
		}
	}
	return out
}

// UnreadDiagnostic says in one diagnostic which folders are not read.
func UnreadDiagnostic(folders []Unread) (d diag.Diagnostic, ok bool) {
	if len(folders) == 0 {
		return d, false
	}
	return diag.OfFile(folders[0].Folder, diag.FoldersUnread, ReadHint(folders), SayUnread(folders)), true
}

// SayUnread says which folders are not read, in one sentence.
func SayUnread(folders []Unread) string {
	const most = 6 // folders that are spelt out
	var parts []string
	for _, u := range folders[:min(most, len(folders))] {
		parts = append(parts, fmt.Sprintf("%s (%d)", u.Folder, u.Files))
	}
	text := strings.Join(parts, ", ")
	if more := len(folders) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "agent files that are not read: " + text
}

// ReadHint says how to read folders that are not read.
func ReadHint(folders []Unread) string {
	return "read them with --agents-from " + strings.Join(UnreadSources(folders), ",") + ", or agentsFrom in the config file"
}

// UnreadSources returns the names in [Options.From] that would read folders, each once.
func UnreadSources(folders []Unread) (names []string) {
	for _, u := range folders {
		if !slices.Contains(names, u.From) {
			names = append(names, u.From)
		}
	}
	return names
}
