package sandbox

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// Access is what may be done in a folder.
type Access string

const (
	Read  Access = "read"
	Write Access = "write"
	// Copy is a copy on write, private to the session: builds find what is in
	// the cache, and leave nothing in it that a build outside would run.
	Copy Access = "copy"
)

// Folder is a folder or file outside of the workspace that a command sees.
type Folder struct {
	Path   string `json:"path"` // absolute
	Access Access `json:"access"`

	// Given says that a person has named the folder. Rules about files bind commands in it.
	Given bool `json:"given,omitempty"`
}

// Rules are the rules of one layer about files.
type Rules struct {
	Layer permission.Layer  `json:"layer"`
	Rules []permission.Rule `json:"rules"`
}

// Profile says what a command may touch. It depends on nothing but rules, and
// is the same on every system. A [Plan] says what this system holds of it.
//
// It is a value to be shown: what binds a command is what [NewProfile] returned.
type Profile struct {
	Workspace string   `json:"workspace"`
	Home      string   `json:"home,omitempty"`
	Readable  bool     `json:"readable"` // some rule allows reading
	Writable  bool     `json:"writable"` // some rule allows writing; false: the workspace is read-only
	Approved  bool     `json:"approved,omitempty"`
	Folders   []Folder `json:"folders"`
	Programs  []string `json:"programs,omitempty"` // those of Folders in which rules for any place, as "*", do not count
	GitDirs   []string `json:"gitDirs,omitempty"`
	GitOwn    []string `json:"gitOwn,omitempty"`   // the parts of GitDirs that may be written; none: all that git writes
	Protected []string `json:"protected"`          // never writable, with all below
	Anywhere  []string `json:"anywhere,omitempty"` // the same, at the end of any folder of the workspace
	Hidden    []string `json:"hidden"`             // never there
	Hosts     bool     `json:"hosts"`              // some host may be reached, through the proxy
	Rules     []Rules  `json:"rules"`

	reasons map[string]string
	inside  []string // of Protected, what is in the workspace, relative to it
	around  []string // the others
	bare    []string
	folds   func(abs string) bool
	coming  map[string]*examples // by tool
	layers  *permission.Layers
	given   []Folder
	as      string // the folder that rules take Workspace for; "": itself
}

// Input is what a profile is made from.
type Input struct {
	// Layers are the session's rules in effect. Required.
	Layers *permission.Layers

	// Workspace is the folder and the home folder that paths are relative to.
	// Required, with symlinks resolved.
	Workspace permission.Workspace

	// Folders are those beside the workspace; nil means [DefaultFolders] of the
	// home folder.
	Folders []Folder

	// GitDirs are the repository's folders outside of the workspace: see
	// [gitplace.GitDirs].
	GitDirs []string

	// GitOwn has the parts of GitDirs that may be written, with all below them.
	// It is for a worktree made for the session. nil means all that git writes.
	GitOwn []string

	// Protected are files and folders that are never writable, there or not:
	// agent files' folders, permissions.jsonc. Absolute, or relative to the
	// workspace.
	Protected []string

	// Bare are folders of the workspace that are repositories without working files.
	Bare []string

	// Anywhere are relative paths that are protected in every folder of the workspace, with all
	// below them: folders of agent files.
	Anywhere []string

	// Reasons say why paths of Protected are, where that is not plain.
	Reasons map[string]string

	// Hidden are files and folders that are never there: the state folder and
	// the settings.
	Hidden []string

	// ReadOnly is for a session without write rights.
	ReadOnly bool

	// Approved says that a person has approved this call: what rules ask about
	// is possible. What they deny is not. False: neither is.
	Approved bool
}

// The tools whose rules a profile is made from.
const (
	readTool    = toolcatalog.ReadFile
	writeTool   = toolcatalog.WriteFile
	editTool    = toolcatalog.EditFile
	networkTool = "network"
)

// NewProfile makes the profile of a session. It reads no file.
func NewProfile(in Input) *Profile {
	p := &Profile{
		Workspace: filepath.Clean(in.Workspace.Root), Home: in.Workspace.Home, Approved: in.Approved,
		Folders: slices.Clone(in.Folders), GitDirs: slices.Clone(in.GitDirs), GitOwn: slices.Clone(in.GitOwn), as: in.Workspace.As, Hidden: absolute(in.Workspace.Root, in.Hidden),
		Protected: absolute(in.Workspace.Root, in.Protected), layers: withoutOwn(in.Layers),
		Anywhere: slices.Clone(in.Anywhere), reasons: in.Reasons, bare: slices.Clone(in.Bare), folds: newFolding().folds,
		coming: map[string]*examples{readTool: {}, writeTool: {}},
	}
	slices.Sort(p.Protected)
	p.Protected = slices.Compact(p.Protected)
	for _, x := range p.Protected {
		if rel, ok := strings.CutPrefix(x, p.Workspace+"/"); ok {
			p.inside = append(p.inside, rel)
		} else {
			p.around = append(p.around, x)
		}
	}
	if in.Folders == nil {
		p.Folders = DefaultFolders(in.Workspace.Home)
	}
	add := func(layer permission.Layer, set *permission.Ruleset) {
		rules := Rules{Layer: layer}
		for r := range set.Rules() {
			if slices.ContainsFunc([]string{readTool, writeTool, editTool, networkTool}, func(tool string) bool { return about(r, tool) }) {
				rules.Rules = append(rules.Rules, r)
			}
		}
		if set.Len() > 0 {
			p.Rules = append(p.Rules, rules)
		}
	}
	for _, rules := range p.layers.Policies {
		add(permission.LayerPolicy, rules)
	}
	for _, rules := range p.layers.Settings {
		add(permission.LayerSettings, rules)
	}
	for _, a := range p.layers.Agents {
		add(permission.LayerAgent, a)
	}
	for _, rules := range in.Layers.Granted { // before the defaults, whose denies they lift nowhere
		add(permission.LayerRepository, rules)
	}
	add(permission.LayerDefault, in.Layers.Defaults)
	add(permission.LayerRepository, in.Layers.Repository)
	add(permission.LayerStatic, in.Layers.Static)
	add(permission.LayerRuntime, in.Layers.Runtime)
	p.Readable = p.mayAllow(readTool)
	p.Writable = !in.ReadOnly && p.mayAllow(writeTool)
	p.Hosts = p.mayAllow(networkTool) || p.hasRule(networkTool, permission.Ask) && !p.deniesAll(networkTool)
	p.Folders = append(append(p.Folders, p.outside()...), sharedSockets(p)...)
	p.given = givenFolders(p)
	return p
}

// withoutOwn leaves out the worker's own rules, which keep file tools from what
// is hidden and protected here: with them git could store no commit.
func withoutOwn(l *permission.Layers) *permission.Layers {
	out := *l
	out.Agents = make([]*permission.Ruleset, len(l.Agents))
	for i, a := range l.Agents {
		out.Agents[i] = a.Without(func(r permission.Rule) bool { return r.Own })
	}
	return &out
}

func absolute(root string, paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, x := range paths {
		if !filepath.IsAbs(x) {
			x = filepath.Join(root, x)
		}
		out = append(out, filepath.Clean(x))
	}
	return out
}

// about reports whether the rule is one of the tool's.
func about(r permission.Rule, tool string) bool {
	g, err := glob.Compile(r.Tool)
	return err == nil && g.Match(tool)
}

// mayAllow reports whether the tool may be allowed for some value.
func (p *Profile) mayAllow(tool string) bool {
	if p.Approved {
		return !p.deniesAll(tool)
	}
	return p.hasRule(tool, permission.Allow) && !p.deniesAll(tool)
}

func (p *Profile) hasRule(tool string, action permission.Action) bool {
	for _, layer := range p.Rules {
		if layer.Layer.Narrows() { // it grants nothing
			continue
		}
		for _, r := range layer.Rules {
			if r.Action == action && about(r, tool) {
				return true
			}
		}
	}
	return false
}

func (p *Profile) deniesAll(tool string) bool {
	return p.layers.DeniesAll(tool)
}

// Shown returns path for people and models: relative to the workspace, if it is
// in there.
func (p *Profile) Shown(path string) string {
	if path == p.Workspace {
		return "the workspace"
	}
	return strings.TrimPrefix(path, p.Workspace+"/")
}

// outside returns the folders outside of the workspace that rules allow by
// their absolute path, where the pattern says no more than "all in it".
func (p *Profile) outside() []Folder {
	var out []Folder
	for _, layer := range p.Rules {
		if layer.Layer.Narrows() { // it grants nothing
			continue
		}
		for _, r := range layer.Rules {
			dir, ok := strings.CutSuffix(r.Pattern, "/**")
			if !ok || !strings.HasPrefix(dir, "/") || strings.ContainsAny(dir, `*?[]{}()!+@|\"$^`) || path.Clean(dir) != dir ||
				r.Action != permission.Allow || contains(p.Workspace, dir) || contains(dir, p.Workspace) || p.as != "" && (contains(p.as, dir) || contains(dir, p.as)) {
				continue
			}
			switch {
			case about(r, writeTool) && p.Writable && p.judge(dir).write:
				out = append(out, Folder{Path: dir, Access: Write})
			case about(r, readTool) && p.judge(dir).read:
				out = append(out, Folder{Path: dir, Access: Read})
			}
		}
	}
	return out
}

// byRule reports whether a rule has added the folder: then other rules may deny
// files in it.
func (p *Profile) byRule(f Folder) bool {
	for _, layer := range p.Rules {
		for _, r := range layer.Rules {
			if r.Pattern == f.Path+"/**" && (r.Action == permission.Allow || !f.Given) {
				return true
			}
		}
	}
	return false
}

// givenFolders returns the folders of a profile that a person has named and in which only denials of rules hold.
func givenFolders(p *Profile) (out []Folder) {
	for _, f := range p.Folders {
		around := slices.ContainsFunc(append(slices.Clone(p.GitDirs), p.Workspace), func(dir string) bool { return contains(dir, f.Path) || contains(f.Path, dir) })
		if f.Given && !around && !p.byRule(f) && f.Path != p.Home && !slices.Contains(p.Programs, f.Path) {
			out = append(out, f)
		}
	}
	return out
}

// givenFolder returns the innermost folder of givenFolders that holds abs.
func givenFolder(p *Profile, abs string) (in Folder, ok bool) {
	for _, f := range p.given {
		if contains(f.Path, abs) && len(f.Path) > len(in.Path) {
			in, ok = f, true
		}
	}
	return in, ok
}

// deniedGiven returns the given folders in which rules may deny something to one of the tools, by an absolute path or in
// any place.
func deniedGiven(p *Profile, tools ...string) (out []Folder) {
	anywhere := slices.ContainsFunc(p.Rules, func(layer Rules) bool {
		return layer.Layer != permission.LayerDefault && slices.ContainsFunc(layer.Rules, func(r permission.Rule) bool {
			return r.Action == permission.Deny && strings.ContainsAny(r.Pattern[:min(1, len(r.Pattern))], "*?[{(!@+") && slices.ContainsFunc(tools, func(tool string) bool { return about(r, tool) })
		})
	})
	for _, f := range p.given {
		if anywhere || slices.ContainsFunc(p.deniedPlaces(tools...), func(place string) bool { return contains(place, f.Path) || contains(f.Path, place) }) {
			out = append(out, f)
		}
	}
	return out
}

// partlyWritable returns the given folders that commands may write, and in which rules may deny that for some files.
func partlyWritable(p *Profile) []Folder {
	return slices.DeleteFunc(deniedGiven(p, writeTool, editTool), func(f Folder) bool { return f.Access != Write })
}

// deniedPlaces returns the files and folders below which rules deny something to one of the tools
// by an absolute path.
func (p *Profile) deniedPlaces(tools ...string) (out []string) {
	for _, layer := range p.Rules {
		for _, r := range layer.Rules {
			if r.Action != permission.Deny || !slices.ContainsFunc(tools, func(tool string) bool { return about(r, tool) }) {
				continue
			}
			pattern := r.Pattern
			for _, home := range []string{"~/", "$HOME/", "${HOME}/"} {
				if rest, ok := strings.CutPrefix(pattern, home); ok && p.Home != "" {
					pattern = p.Home + "/" + rest
				}
			}
			if !filepath.IsAbs(pattern) {
				continue
			}
			if i := strings.IndexAny(pattern, `*?[]{}()!+@|\"$^`); i >= 0 {
				pattern = filepath.Dir(pattern[:i] + "x")
			}
			place := filepath.Clean(pattern)
			if real, err := filepath.EvalSymlinks(place); err == nil && real != place {
				out = append(out, real)
			}
			out = append(out, place)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// contains reports whether path is dir or below it.
func contains(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(dir, "/"))
}
