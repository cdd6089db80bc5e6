package agentdefs

import (
	"context"
	"path"
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/internal/disk"
)

// Unread is a folder of agent files that is there and not read.
type Unread = scan.Unread

// SayUnread says which folders are not read, in one sentence.
func SayUnread(folders []Unread) string { return scan.SayUnread(folders) }

// ReadHint says how to read folders that are not read.
func ReadHint(folders []Unread) string { return scan.ReadHint(folders) }

// UnreadSources returns the names in [Options.From] that would read folders, each once.
func UnreadSources(folders []Unread) []string { return scan.UnreadSources(folders) }

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

// Files returns the files and folders that the agents of a workspace are read from, beyond those of
// [Folders]: plugins, and the files that agents' files name. Paths are absolute. What a child may write
// there would steer agents.
func Files(root string, opts *Options) ([]string, error) {
	l, err := newLoader(context.Background(), root, opts)
	if err != nil {
		return nil, err
	}
	l.load(context.Background(), nil)
	var out []string
	add := func(path string) {
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, r := range l.files.records {
		for _, ref := range r.references {
			add(ref.real)
		}
	}
	if slices.ContainsFunc(dialect.From(l.opts.From), func(o dialect.Dialect) bool { return o.Plugins }) {
		for _, p := range scan.Plugins(l.disk(context.Background()), l.root, nil) {
			for _, file := range p.Files {
				add(filepath.Join(l.root, filepath.FromSlash(file)))
			}
			add(filepath.Join(l.root, filepath.FromSlash(p.Dir), "skills"))
			for _, f := range p.Folders() {
				add(filepath.Join(l.root, filepath.FromSlash(f.Shown)))
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// PluginSkills returns the folders of skills of the plugins in a workspace, by the names of the plugins. It is
// empty where opts do not ask for plugins.
func PluginSkills(root string, opts *Options) (folders [][2]string) {
	opts = opts.complete()
	if !slices.ContainsFunc(dialect.From(opts.From), func(o dialect.Dialect) bool { return o.Plugins }) {
		return nil
	}
	d := disk.New(context.Background(), disk.NewLimiter(opts.disk.Timeout), &opts.disk)
	for _, p := range scan.Plugins(d, root, nil) {
		folders = append(folders, [2]string{p.Name, path.Join(p.Dir, "skills")})
	}
	return folders
}
