package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// host is an MCP Host whose configuration is known.
type host struct {
	Name  string // as commands take it
	Title string
	Add   string // its own command that adds a server named worker; empty means it has none

	program string   // its command; empty means it has none of a known name
	signs   []string // what its installation leaves in the home folder
	user    func(hostFolders) []string
	project []string // below the workspace; nil means it reads none there
	toml    bool
	keys    []string // the objects that hold the entries, from the document down
	entry   func(serverCommand) []entryField
}

// serverCommand is what an entry starts.
type serverCommand struct {
	Command string
	Args    []string
	Vars    []string // of the environment, for hosts that pass on no others
}

// entryField is a member of an entry, in the order in which it is written.
type entryField struct {
	Key   string
	Value any
}

// hostFolders are the folders with the files of hosts: the user's and the workspace's.
type hostFolders struct {
	Home    string
	Project string // the workspace's root
	Getenv  func(string) string
}

// below returns a path in the folder that a variable names, else in a folder of the home
// folder.
func (p hostFolders) below(variable, folder string, path ...string) string {
	dir := ""
	if variable != "" {
		dir = p.Getenv(variable)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Home, filepath.FromSlash(folder))
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

// editor returns the folder in which VS Code keeps a user's settings.
func (p hostFolders) editor() string {
	switch runtime.GOOS {
	case "darwin":
		return p.below("", "Library/Application Support", "Code", "User")
	case "windows":
		return p.below("APPDATA", "AppData/Roaming", "Code", "User")
	default:
		return p.below("XDG_CONFIG_HOME", ".config", "Code", "User")
	}
}

func stdioEntry(s serverCommand) []entryField {
	return []entryField{{"command", s.Command}, {"args", s.Args}}
}

// typedEntry is started with the name of the transport before it, and what else follows.
func typedEntry(kind string, more ...entryField) func(serverCommand) []entryField {
	return func(s serverCommand) []entryField {
		return append(append([]entryField{{"type", kind}}, stdioEntry(s)...), more...)
	}
}

func oneFile(variable, folder string, path ...string) func(hostFolders) []string {
	return func(p hostFolders) []string { return []string{p.below(variable, folder, path...)} }
}

// allHosts are the hosts, in the order in which they are shown. docs/guide/hosts.md says of each
// what works there.
var allHosts = []*host{
	{
		Name: "claude", Title: "Claude Code", Add: "claude mcp add worker -- worker mcp", program: "claude", signs: []string{".claude", ".claude.json"},
		user: oneFile("CLAUDE_CONFIG_DIR", "", ".claude.json"), project: []string{".mcp.json"}, keys: []string{"mcpServers"}, entry: stdioEntry,
	},
	{
		Name: "codex", Title: "Codex", Add: "codex mcp add worker -- worker mcp", program: "codex", signs: []string{".codex"},
		user: oneFile("CODEX_HOME", ".codex", "config.toml"), toml: true, keys: []string{"mcp_servers"},
		entry: func(s serverCommand) []entryField {
			entry := stdioEntry(s)
			if len(s.Vars) > 0 {
				entry = append(entry, entryField{"env_vars", s.Vars})
			}
			return entry
		},
	},
	{
		Name: "opencode", Title: "opencode", program: "opencode", signs: []string{".config/opencode"},
		user: func(p hostFolders) []string {
			return []string{p.below("XDG_CONFIG_HOME", ".config", "opencode", "opencode.json"), p.below("XDG_CONFIG_HOME", ".config", "opencode", "opencode.jsonc")}
		},
		project: []string{"opencode.json", "opencode.jsonc"}, keys: []string{"mcp"},
		entry: func(s serverCommand) []entryField {
			return []entryField{{"type", "local"}, {"command", append([]string{s.Command}, s.Args...)}, {"enabled", true}}
		},
	},
	{
		Name: "gemini", Title: "Gemini CLI", Add: "gemini mcp add -s user worker worker mcp", program: "gemini", signs: []string{".gemini"},
		user: oneFile("", ".gemini", "settings.json"), project: []string{".gemini/settings.json"}, keys: []string{"mcpServers"}, entry: stdioEntry,
	},
	{
		Name: "qwen", Title: "Qwen Code", Add: "qwen mcp add --scope user worker worker mcp", program: "qwen", signs: []string{".qwen"},
		user: oneFile("", ".qwen", "settings.json"), project: []string{".qwen/settings.json"}, keys: []string{"mcpServers"}, entry: stdioEntry,
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI", Add: "copilot mcp add worker -- worker mcp", program: "copilot", signs: []string{".copilot"},
		user: oneFile("", ".copilot", "mcp-config.json"), keys: []string{"mcpServers"}, entry: typedEntry("local", entryField{"tools", []string{"*"}}),
	},
	{
		Name: "cursor", Title: "Cursor", program: "cursor", signs: []string{".cursor"},
		user: oneFile("", ".cursor", "mcp.json"), project: []string{".cursor/mcp.json"}, keys: []string{"mcpServers"}, entry: stdioEntry,
	},
	{
		Name: "vscode", Title: "VS Code", program: "code", signs: []string{".vscode", ".config/Code"},
		user:    func(p hostFolders) []string { return []string{filepath.Join(p.editor(), "mcp.json")} },
		project: []string{".vscode/mcp.json"}, keys: []string{"servers"}, entry: typedEntry("stdio"),
	},
	{
		Name: "cline", Title: "Cline", program: "cline", signs: []string{".cline"},
		user: oneFile("", ".cline", "data", "settings", "cline_mcp_settings.json"), keys: []string{"mcpServers"}, entry: stdioEntry,
	},
}

// findHost returns the host of a name, or nil.
func findHost(name string) *host {
	for _, h := range allHosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// hostNames returns the names of all hosts.
func hostNames() []string {
	var names []string
	for _, h := range allHosts {
		names = append(names, h.Name)
	}
	return names
}

// Installed reports whether the host seems to be installed: its command is on the PATH, or
// it has left files in the home folder.
func (h *host) Installed(p hostFolders) bool {
	for _, sign := range h.signs {
		if _, err := os.Stat(filepath.Join(p.Home, filepath.FromSlash(sign))); err == nil {
			return true
		}
	}
	return h.program != "" && onPath(h.program, p.Getenv) != ""
}

// onPath returns the file that a command of that name starts; empty means there is none.
func onPath(name string, getenv func(string) string) string {
	names := []string{name}
	if runtime.GOOS == "windows" {
		names = []string{name + ".exe", name + ".cmd"}
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		for _, name := range names {
			file := filepath.Join(dir, name)
			info, err := os.Stat(file)
			if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
				return file
			}
		}
	}
	return ""
}

// entryText returns an entry as a JSON object in one line.
func entryText(fields []entryField) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(jsonText(f.Key) + ": " + strings.ReplaceAll(jsonText(f.Value), `","`, `", "`))
	}
	return "{" + b.String() + "}"
}

// jsonText returns the JSON of a text, a list of texts or a truth value.
func jsonText(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // such values have a JSON
	return strings.TrimSuffix(b.String(), "\n")
}
