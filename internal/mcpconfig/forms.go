package mcpconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/internal/boundedfile"
)

// Form is how a program writes servers into a file.
type Form struct {
	Program string   // as --mcp-from names it; empty means that it is always read
	Project []string // its files, relative to the workspace
	User    []string // its files, relative to the home folder
	Key     string   // the key of the object of servers
	TOML    bool
	Syntax  *Syntax
	Unit    time.Duration // of "timeout"; 0 means milliseconds
	URLIs   Transport     // what a URL without a type is; empty means [HTTP]
}

func (f *Form) unit() time.Duration {
	if f.Unit == 0 {
		return time.Millisecond
	}
	return f.Unit
}

func (f *Form) remote() Transport {
	if f.URLIs == "" {
		return HTTP
	}
	return f.URLIs
}

// Own is the form of the setting mcpServers and of agent files, that of Claude Code.
var Own = Form{Key: "mcpServers", Syntax: braces}

// Forms has a row for each form of files. Files that come first win where two name a server.
var Forms = []Form{
	{Project: []string{".mcp.json"}, Key: "mcpServers", Syntax: braces},
	{Program: "claude", User: []string{".claude.json"}, Key: "mcpServers", Syntax: braces},
	{Program: "codex", Project: []string{".codex/config.toml"}, User: []string{".codex/config.toml"}, Key: "mcp_servers", TOML: true, Syntax: none},
	{Program: "opencode", Project: []string{"opencode.json", "opencode.jsonc"}, User: []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"}, Key: "mcp", Syntax: curly},
	{Program: "vscode", Project: []string{".vscode/mcp.json"}, Key: "servers", Syntax: editors},
	{Program: "cursor", Project: []string{".cursor/mcp.json"}, User: []string{".cursor/mcp.json"}, Key: "mcpServers", Syntax: editors},
	{Program: "gemini", Project: []string{".gemini/settings.json"}, User: []string{".gemini/settings.json"}, Key: "mcpServers", Syntax: dollars, URLIs: SSE},
	{Program: "copilot", Project: []string{".github/mcp.json"}, User: []string{".copilot/mcp-config.json"}, Key: "mcpServers", Syntax: dollars},
}

// Programs returns the programs whose files can be read besides, sorted.
func Programs() []string {
	var names []string
	for _, f := range Forms {
		if f.Program != "" {
			names = append(names, f.Program)
		}
	}
	slices.Sort(names)
	return names
}

// maxFile bounds a file, in bytes.
const maxFile = 16 << 20

// File is a file to read servers from.
type File struct {
	Form       *Form
	Path       string
	Shown      string // for people
	Repository bool
}

// Files returns the files that there may be. from are programs, or "all".
func Files(root, home string, from []string) []File {
	var files []File
	for i := range Forms {
		f := &Forms[i]
		if f.Program != "" && !slices.Contains(from, f.Program) && !slices.Contains(from, "all") {
			continue
		}
		for _, name := range f.Project {
			files = append(files, File{f, filepath.Join(root, filepath.FromSlash(name)), name, true})
		}
		for _, name := range f.User {
			if home != "" {
				files = append(files, File{f, filepath.Join(home, filepath.FromSlash(name)), "~/" + name, false})
			}
		}
	}
	return files
}

// Read returns the servers of a file, by name. A file that is not there has none. A server
// that can't be read is in the error, and the others are returned all the same.
func (f File) Read() ([]*Server, error) {
	text, err := boundedfile.Read(f.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		var servers []*Server
		servers, err = f.Form.Parse(text)
		for _, s := range servers {
			s.File, s.Repository = f.Shown, f.Repository
		}
		if err == nil {
			return servers, nil
		}
		return servers, fmt.Errorf("%s: %w", f.Shown, err)
	}
	return nil, err
}

// Parse returns the servers in the text of a file, by name.
func (f *Form) Parse(text []byte) ([]*Server, error) {
	entries, err := f.entries(text)
	if err != nil {
		return nil, err
	}
	servers, err := f.Servers(entries)
	for _, s := range servers {
		s.Line = lineOf(text, s.Name)
	}
	return servers, err
}

// entries returns the object of servers in the text of a file.
func (f *Form) entries(text []byte) (map[string]json.RawMessage, error) {
	if f.TOML {
		var all map[string]any
		if err := toml.Unmarshal(text, &all); err != nil {
			return nil, err
		}
		made, err := json.Marshal(all)
		if err != nil {
			return nil, fmt.Errorf("a value has no JSON form: %w", err)
		}
		text = made
	} else {
		made, err := hujson.Standardize(bytes.TrimPrefix(bytes.Clone(text), []byte("\uFEFF")))
		if err != nil {
			return nil, err
		}
		text = made
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, errors.New("it is no object")
	}
	var entries map[string]json.RawMessage
	if raw := all[f.Key]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &entries); err != nil {
			return nil, fmt.Errorf("%s is no object", f.Key)
		}
	}
	return entries, nil
}

// maxServers bounds the servers of a file.
const maxServers = 200

// Servers reads an object of servers. One that can't be read is in the error.
func (f *Form) Servers(entries map[string]json.RawMessage) ([]*Server, error) {
	if len(entries) > maxServers {
		return nil, fmt.Errorf("there are more than %d MCP servers", maxServers)
	}
	var servers []*Server
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		s, err := decode(name, entries[name], f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		servers = append(servers, s)
	}
	return servers, errors.Join(errs...)
}

// lineOf returns the line on which a file first has a name as a key; 0 means none.
func lineOf(text []byte, name string) int {
	quoted, _ := json.Marshal(name)
	for i, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "[") && strings.Contains(trimmed, name) {
			return i + 1
		}
		if at := strings.Index(line, string(quoted)); at >= 0 && strings.HasPrefix(strings.TrimSpace(line[at+len(quoted):]), ":") {
			return i + 1
		}
	}
	return 0
}
