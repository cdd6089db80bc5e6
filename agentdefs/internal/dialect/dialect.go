// Package dialect knows the agent files of other tools: where they are, how they
// differ from ours, and what the names of their tools mean here.
package dialect

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Dialect says where one tool keeps its agent files, and what differs in them.
// None is read unless it is asked for.
type Dialect struct {
	Name    string   // what asks for it
	Folders []Folder // below the workspace

	Home   bool // Folders are below the user's home folder instead
	Nested bool // Folders are below folders of the workspace instead

	Format        string        // extension of files that are read beside .md
	pathName      bool          // an agent without a name is called by its path below the folder
	Mode          string        // of an agent that names none; empty means subagent
	Steps         int           // limit for an agent that names none
	Timeout       time.Duration // of an agent that names none; 0 means the worker's
	PlainPatterns bool          // only the star and the question mark are special in patterns
	Asks          bool          // tools that are not in allowedTools are asked about
	skip          string        // files whose names begin with it are ignored
}

// unlimited are the steps of an agent whose tool sets it no limit.
const unlimited = 100

// All holds every dialect. Agents of later ones replace those of earlier ones.
var All = []Dialect{
	{Name: "claude-user", Steps: unlimited, Home: true, Folders: []Folder{{Shown: ".claude/agents", Nested: true}}},
	{Name: "packages", Nested: true, Folders: WorkspaceFolders},
	{Name: "opencode", Steps: unlimited, Folders: []Folder{{Shown: ".opencode/agent", Nested: true}, {Shown: ".opencode/agents", Nested: true}}, pathName: true, Mode: "all", PlainPatterns: true},
	{Name: "github", Steps: unlimited, Folders: []Folder{{Shown: ".github/agents"}}},
	{Name: "gemini", Folders: []Folder{{Shown: ".gemini/agents"}}, Steps: 30, Timeout: 10 * time.Minute, skip: "_"},
	{Name: "cursor", Steps: unlimited, Folders: []Folder{{Shown: ".cursor/agents"}}},
	{Name: "qwen", Steps: unlimited, Folders: []Folder{{Shown: ".qwen/agents"}}},
	{Name: "kiro", Steps: unlimited, Folders: []Folder{{Shown: ".kiro/agents"}}, Format: ".json", Asks: true},
	{Name: "factory", Steps: unlimited, Folders: []Folder{{Shown: ".factory/droids"}}},
	{Name: "codex", Steps: unlimited, Folders: []Folder{{Shown: ".codex/agents", Nested: true}}, Format: ".toml"},
	{Name: "claude", Steps: unlimited, Folders: []Folder{{Shown: ".claude/agents", Nested: true}}},
}

// Of returns the dialect of the folder that a file is in, and the file's path
// below that folder. A file elsewhere has the zero Dialect.
func Of(file string) (o Dialect, below string) {
	file = "/" + file
	for _, o := range All {
		if o.Home || o.Nested {
			continue
		}
		for _, f := range o.Folders {
			if i := strings.LastIndex(file, "/"+f.Shown+"/"); i >= 0 {
				return o, file[i+len(f.Shown)+2:]
			}
		}
	}
	return Dialect{}, path.Base(file)
}

// IsAgentFile reports whether a file may be an agent's, by its path.
func IsAgentFile(file string) bool {
	o, _ := Of(file)
	name := path.Base(file)
	return !strings.HasPrefix(name, ".") && (o.skip == "" || !strings.HasPrefix(name, o.skip)) &&
		(strings.HasSuffix(name, ".md") || o.Format != "" && strings.HasSuffix(name, o.Format))
}

// AgentName returns the name of an agent whose file has no field for it.
func AgentName(file string) string {
	o, name := Of(file)
	if !o.pathName {
		name = path.Base(name)
	}
	if ext := path.Ext(name); ext == ".md" || ext == o.Format {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.TrimSuffix(name, ".agent")
}

// IsDocumentation reports whether a file is probably documentation beside the
// agents: README, CLAUDE, AGENTS, all capitals, or a leading "_".
func IsDocumentation(file string) bool {
	name := AgentName(file)
	if strings.HasPrefix(name, "_") || strings.HasPrefix(strings.ToUpper(name), "README") {
		return true
	}
	return name == strings.ToUpper(name) && name != strings.ToLower(name)
}

// Suffixes are the extensions of agent files.
var Suffixes = []string{".md", ".json", ".toml"}

// Folder is a folder of agent files.
type Folder struct {
	Shown  string // for people: relative to the root, or the given path
	Nested bool   // its subfolders are read too
}

// WorkspaceFolders are searched in this order below the root; the first that
// exists is served.
var WorkspaceFolders = []Folder{
	{Shown: ".agents/agents"},
	{Shown: ".claude/agents", Nested: true},
}

// From returns the dialects of these names in that order, each once; "all"
// means all of them.
func From(names []string) []Dialect {
	if slices.Contains(names, "all") {
		return All
	}
	var out []Dialect
	for _, name := range names {
		for _, o := range All {
			if o.Name == name && !slices.ContainsFunc(out, func(have Dialect) bool { return have.Name == name }) {
				out = append(out, o)
			}
		}
	}
	return out
}
