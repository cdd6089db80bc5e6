package agentdefs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// lookForUnread is how often folders that are not read are looked for while
// files change.
const lookForUnread = 30 * time.Second

// Unread is a folder of agent files that is there and not read.
type Unread struct {
	Folder string `json:"folder"` // as shown to people
	Files  int    `json:"files"`  // how many agent files it holds, 1,000 at most
	From   string `json:"from"`   // the name in [Options.From] that would read it
}

// Unread returns the folders of other tools, of packages and of the user that
// hold agent files and are not read.
func (s *Snapshot) Unread() []Unread { return slices.Clone(s.unread) }

// unreadFolders finds the folders that opts does not ask for. dir is the
// workspace's folder that is served.
func unreadFolders(disk *disk, root string, opts *Options, dir string) []Unread {
	asked := opts.from()
	var out []Unread
	for _, o := range origins {
		if slices.ContainsFunc(asked, func(have origin) bool { return have.name == o.name }) {
			continue
		}
		base, folders := root, o.folders
		switch {
		case o.home && opts.ToolsHome == "", o.name == "claude": // that one is shadowed, which is said apart
			continue
		case o.home:
			base = opts.ToolsHome
		case o.nested:
			folders = packageFolders(disk, root, nil)
		}
		for _, f := range folders {
			at := filepath.Join(base, filepath.FromSlash(f.shown))
			shown := f.shown
			if o.home {
				shown = filepath.ToSlash(at)
			}
			if sameFolder(disk, at, filepath.Join(root, filepath.FromSlash(dir))) {
				continue
			}
			if n := countAgentFiles(disk, at, shown, f.nested); n > 0 {
				out = append(out, Unread{shown, n, o.name})
			}
		}
	}
	return out
}

func sameFolder(disk *disk, a, b string) bool {
	one, err := disk.stat(a)
	if err != nil {
		return false
	}
	other, err := disk.stat(b)
	return err == nil && os.SameFile(one, other)
}

// countAgentFiles counts the agent files in a folder, without those that are
// likely to be documentation.
func countAgentFiles(disk *disk, dir, shown string, nested bool) (n int) {
	const most, deepest = 1000, 4
	var walk func(dir, shown string, depth int)
	walk = func(dir, shown string, depth int) {
		entries, err := disk.readDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			at := path.Join(shown, e.Name())
			switch {
			case n == most:
				return
			case e.IsDir() && nested && depth < deepest && !strings.HasPrefix(e.Name(), "."):
				walk(filepath.Join(dir, e.Name()), at, depth+1)
			case !e.IsDir() && agentFile(at) && !quietWithoutFrontmatter(at):
				n++
			}
		}
	}
	walk(dir, shown, 0)
	return n
}

// unreadDiagnostic says in one diagnostic which folders are not read.
func unreadDiagnostic(folders []Unread) (d Diagnostic, ok bool) {
	if len(folders) == 0 {
		return d, false
	}
	return finding(folders[0].Folder, codeFoldersUnread, ReadHint(folders), SayUnread(folders)), true
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
	var names []string
	for _, u := range folders {
		if !slices.Contains(names, u.From) {
			names = append(names, u.From)
		}
	}
	return "read them with --agents-from " + strings.Join(names, ",") + ", or agentsFrom in the config file"
}
