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
	Lists   []List   // files with several agents, below the workspace; those of Folders replace theirs

	Maker string // whose rule it is where the files are, and how they are read
	Link  string // the page that has the rule; empty means that none was found

	Home   bool // Folders are below the user's home folder instead
	Nested bool // Folders are below folders of the workspace instead

	Plugins bool // the folders are those of the plugins in the workspace

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

// List is a file that holds several agents.
type List struct {
	Shown string // relative to the root
	Form  Form
}

// Form says how the agents of a file are found in it.
type Form string

// The forms.
const (
	OpencodeList Form = "opencode" // agent and mode of opencode.json: mappings of names to agents
	CodexList    Form = "codex"    // the tables agents.NAME of config.toml, each with the file of its fields
	ModeList     Form = "modes"    // customModes, a list in YAML or JSON
)

// All holds every dialect. Agents of later ones replace those of earlier ones.
var All = []Dialect{
	{Name: "claude-user", Steps: unlimited, Home: true, Folders: []Folder{{Shown: ".claude/agents", Nested: true}},
		Maker: "Claude Code", Link: "https://code.claude.com/docs/en/sub-agents"},
	{Name: "packages", Nested: true, Folders: WorkspaceFolders,
		Maker: "Claude Code", Link: "https://code.claude.com/docs/en/sub-agents"},
	{Name: "plugins", Steps: unlimited, Plugins: true,
		Maker: "Claude Code", Link: "https://code.claude.com/docs/en/plugins/overview"},
	{Name: "opencode", Steps: unlimited, Folders: []Folder{{Shown: ".opencode/agent", Nested: true}, {Shown: ".opencode/agents", Nested: true}}, pathName: true, Mode: "all", PlainPatterns: true,
		Lists: []List{{"opencode.json", OpencodeList}, {"opencode.jsonc", OpencodeList}, {".opencode/opencode.json", OpencodeList}, {".opencode/opencode.jsonc", OpencodeList}},
		Maker: "opencode", Link: "https://opencode.ai/docs/agents"},
	{Name: "github", Steps: unlimited, Folders: []Folder{{Shown: ".github/agents"}},
		Maker: "GitHub Copilot", Link: "https://docs.github.com/en/copilot/reference/custom-agents-configuration"},
	{Name: "gemini", Folders: []Folder{{Shown: ".gemini/agents"}}, Steps: 30, Timeout: 10 * time.Minute, skip: "_",
		Maker: "Gemini CLI", Link: "https://geminicli.com/docs/core/subagents"},
	{Name: "cursor", Steps: unlimited, Folders: []Folder{{Shown: ".cursor/agents"}},
		Maker: "Cursor"},
	{Name: "qwen", Steps: unlimited, Folders: []Folder{{Shown: ".qwen/agents"}},
		Maker: "Qwen Code", Link: "https://qwenlm.github.io/qwen-code-docs/en/users/features/sub-agents"},
	{Name: "kiro", Steps: unlimited, Folders: []Folder{{Shown: ".kiro/agents"}}, Format: ".json", Asks: true,
		Maker: "Kiro", Link: "https://kiro.dev/docs/cli/custom-agents/configuration-reference"},
	{Name: "factory", Steps: unlimited, Folders: []Folder{{Shown: ".factory/droids"}},
		Maker: "Factory"},
	{Name: "codex", Steps: unlimited, Folders: []Folder{{Shown: ".codex/agents", Nested: true}}, Format: ".toml",
		Lists: []List{{".codex/config.toml", CodexList}},
		Maker: "Codex", Link: "https://developers.openai.com/codex/subagents"},
	{Name: "deepagents", Steps: unlimited, Folders: []Folder{{Shown: ".deepagents/agents", Each: []string{"AGENTS.md"}}},
		Maker: "Deep Agents Code", Link: "https://docs.langchain.com/oss/deepagents/code/subagents"},
	{Name: "roo", Steps: unlimited, Mode: "all", Lists: []List{{".roomodes", ModeList}},
		Maker: "Roo Code", Link: "https://docs.roocode.com/features/custom-modes"},
	{Name: "kilo", Steps: unlimited, Mode: "all", Lists: []List{{".kilocodemodes", ModeList}},
		Maker: "Kilo Code", Link: "https://kilo.ai/docs/customize/custom-modes"},
	{Name: "claude", Steps: unlimited, Folders: []Folder{{Shown: ".claude/agents", Nested: true}},
		Maker: "Claude Code", Link: "https://code.claude.com/docs/en/sub-agents"},
}

// Of returns the dialect of the folder that a file is in, and the file's path
// below that folder. A file elsewhere has the zero Dialect.
func Of(file string) (o Dialect, below string) {
	file = "/" + file
	for _, o := range All {
		if o.Home || o.Nested {
			continue
		}
		for _, l := range o.Lists {
			if strings.HasSuffix(file, "/"+l.Shown) {
				return o, path.Base(file)
			}
		}
		for _, f := range o.Folders {
			if i := strings.LastIndex(file, "/"+f.Shown+"/"); i >= 0 {
				return o, file[i+len(f.Shown)+2:]
			}
		}
	}
	return Dialect{}, path.Base(file)
}

// Top returns the folder that a file's tool takes for the top of the project, by the file's path.
func Top(file string) string {
	for _, o := range All {
		for _, l := range o.Lists {
			if top, ok := strings.CutSuffix(file, "/"+l.Shown); ok {
				return top
			}
		}
		for _, f := range o.Folders {
			if i := strings.LastIndex(file, "/"+f.Shown+"/"); i >= 0 {
				return file[:i]
			}
		}
	}
	return path.Dir(file)
}

// Place returns the folder of agents that a file is in, or the file itself if it may hold several.
func Place(file string) string {
	if ListForm(file) != "" {
		return file
	}
	place := path.Dir(file)
	for _, f := range slices.Concat(WorkspaceFolders, allFolders()) {
		if i := strings.LastIndex("/"+file, "/"+f.Shown+"/"); i >= 0 {
			place = file[:i+len(f.Shown)]
		}
	}
	return place
}

func allFolders() (all []Folder) {
	for _, o := range All {
		all = append(all, o.Folders...)
	}
	return all
}

// ListForm returns how the agents of a file are found in it, by the file's path; empty means
// that it holds one agent, or none.
func ListForm(file string) Form {
	for _, o := range All {
		for _, l := range o.Lists {
			if strings.HasSuffix("/"+file, "/"+l.Shown) {
				return l.Form
			}
		}
	}
	return ""
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
	if folder := folderName(file, o); folder != "" {
		return folder
	}
	if !o.pathName {
		name = path.Base(name)
	}
	if ext := path.Ext(name); ext == ".md" || ext == o.Format {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.TrimSuffix(name, ".agent")
}

// folderName returns the name of the folder that an agent has for itself; empty means it has
// none.
func folderName(file string, o Dialect) string {
	names := eachName
	for _, f := range o.Folders {
		names = append(slices.Clone(names), f.Each...)
	}
	folder := path.Base(path.Dir(file))
	if o.pathName || !slices.Contains(names, path.Base(file)) || path.Dir(file) == "." || slices.Contains(commonFolders, folder) {
		return ""
	}
	return folder
}

// eachName are the names of an agent's file in a folder of its own.
var eachName = []string{"AGENT.md", "agent.md"}

// commonFolders are folders that hold several agents.
var commonFolders = []string{"agents", "agent", "droids"}

// IsDocumentation reports whether a file is probably documentation beside the
// agents: README, CLAUDE, AGENTS, all capitals, or a leading "_".
func IsDocumentation(file string) bool {
	name := path.Base(file)
	name = strings.TrimSuffix(strings.TrimSuffix(name, path.Ext(name)), ".agent")
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
	Plugin string // the plugin that has it; empty means none

	// Each names the file of an agent that has a subfolder for itself. The first one that exists
	// counts. Other files of subfolders are not read.
	Each []string
}

// WorkspaceFolders are searched in this order below the root; the first that
// exists is served.
var WorkspaceFolders = []Folder{
	{Shown: ".agents/agents", Each: eachName},
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
