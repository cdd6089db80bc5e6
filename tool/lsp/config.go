package lsp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/termtext"
)

// Server is the configuration of a language server.
type Server struct {
	Name      string            `json:"name"`
	Command   []string          `json:"command"`
	Languages map[string]string `json:"languages"` // the id of the language by the end of a file's name, with its dot
	Env       map[string]string `json:"env,omitempty"`
	Init      json.RawMessage   `json:"init,omitempty"`     // initializationOptions
	Settings  json.RawMessage   `json:"settings,omitempty"` // what it asks for as its configuration, an object by sections
	Off       bool              `json:"-"`

	caches []string // variables that name the folders of its caches

	File       string `json:"-"` // that names it, for people; empty means that it was found in PATH
	Repository bool   `json:"-"` // the file belongs to the workspace
}

// Source says for people where a server comes from.
func (s *Server) Source() string { return cmp.Or(s.File, "found in PATH") }

// Asked returns the command that a person has written, or the name that was looked for in PATH.
func (s *Server) Asked() []string {
	asked := slices.Clone(s.Command)
	if s.File == "" && len(asked) > 0 {
		asked[0] = filepath.Base(asked[0])
	}
	return asked
}

// Hash returns the hash of all that decides what runs.
func (s *Server) Hash() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // raw values of a file that was parsed
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// languageOf returns the id of the language of a file; false means the server is not for it.
func (s *Server) languageOf(path string) (string, bool) {
	id, ok := s.Languages[strings.ToLower(filepath.Ext(path))]
	return id, ok
}

// known are the servers that are looked for in PATH, with the arguments by which they speak over
// stdin and stdout. Their extensions are those of https://opencode.ai/docs/lsp/, and the ids of the
// languages those of the specification.
var known = []Server{
	{Name: "gopls", Command: []string{"gopls"}, Languages: map[string]string{".go": "go"},
		Init: json.RawMessage(`{"pullDiagnostics":true,"diagnosticsDelay":"50ms","symbolScope":"workspace"}`), caches: []string{"GOPLSCACHE"}},
	{Name: "typescript", Command: []string{"typescript-language-server", "--stdio"}, Languages: map[string]string{
		".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
		".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact"},
		Init: json.RawMessage(`{"disableAutomaticTypingAcquisition":true,"tsserver":{"useSyntaxServer":"never"}}`)},
	{Name: "pyright", Command: []string{"pyright-langserver", "--stdio"}, Languages: map[string]string{".py": "python", ".pyi": "python"}},
	{Name: "rust-analyzer", Command: []string{"rust-analyzer"}, Languages: map[string]string{".rs": "rust"}, caches: []string{"CARGO_TARGET_DIR"}},
	{Name: "clangd", Command: []string{"clangd"}, Languages: map[string]string{
		".c": "c", ".h": "c", ".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp", ".c++": "cpp", ".hpp": "cpp", ".hh": "cpp", ".hxx": "cpp", ".h++": "cpp"}},
}

// Form is how a program writes language servers into a file.
type Form struct {
	Project []string // its files, relative to the workspace
	Key     string   // the key of the object of servers; empty means that the file is that object, or has it at lspServers
}

// Own is the form of the setting lsp.
var Own = Form{}

// forms has a row for each form of files. Files that come first win where two name a server.
var forms = []Form{
	{Project: []string{".lsp.json", ".github/lsp.json", "lsp.json"}},
	{Project: []string{"opencode.json", "opencode.jsonc"}, Key: "lsp"},
	{Project: []string{"crush.json", ".crush.json"}, Key: "lsp"},
}

// entry is a server in all of the forms: Claude Code's .lsp.json, Copilot's lsp.json, opencode's and
// crush's key lsp. What is written there and not here says nothing that matters here.
type entry struct {
	Command             json.RawMessage   `json:"command"` // a text, or the list with the arguments
	Args                []string          `json:"args"`
	Env                 map[string]string `json:"env"`
	ExtensionToLanguage map[string]string `json:"extensionToLanguage"` // Claude Code's
	FileExtensions      map[string]string `json:"fileExtensions"`      // Copilot's
	Extensions          []string          `json:"extensions"`          // opencode's
	Filetypes           []string          `json:"filetypes"`           // crush's: names of languages, or extensions
	FileTypes           []string          `json:"file_types"`          // docker-agent's
	Init1               json.RawMessage   `json:"initializationOptions"`
	Init2               json.RawMessage   `json:"initialization"`
	Init3               json.RawMessage   `json:"init_options"`
	Settings            json.RawMessage   `json:"settings"`
	Options             json.RawMessage   `json:"options"` // crush's settings
	Transport           string            `json:"transport"`
	Disabled            bool              `json:"disabled"`
}

// maxFile bounds a file of servers, in bytes.
const maxFile = 1 << 20

// File is a file to read servers from.
type File struct {
	Form  *Form
	Path  string
	Shown string // for people
}

// Files returns the files of a workspace that there may be.
func Files(root string) (files []File) {
	for i := range forms {
		for _, name := range forms[i].Project {
			files = append(files, File{&forms[i], filepath.Join(root, filepath.FromSlash(name)), name})
		}
	}
	return files
}

// Read returns the servers of a file, by name. A file that is not there has none. A server that
// can't be read is in the error, and the others are returned all the same.
func (f File) Read() ([]*Server, error) {
	text, err := boundedfile.Read(f.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Shown, err)
	}
	servers, err := f.Form.Parse(text)
	for _, s := range servers {
		s.File, s.Repository = f.Shown, true
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Shown, err)
	}
	return servers, err
}

// Parse returns the servers of a text in JSON, which may have comments.
func (f *Form) Parse(text []byte) ([]*Server, error) {
	plain, err := hujson.Standardize(slices.Clone(text))
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(plain, &all); err != nil {
		return nil, fmt.Errorf("it must be an object with language servers by their names: %w", err)
	}
	switch inner, ok := all["lspServers"]; {
	case f.Key != "":
		if inner = all[f.Key]; len(inner) == 0 || string(inner) == "false" || string(inner) == "true" {
			return nil, nil
		}
		fallthrough
	case ok:
		key := cmp.Or(f.Key, "lspServers")
		all = nil
		if err := json.Unmarshal(inner, &all); err != nil {
			return nil, fmt.Errorf("%s must be an object with language servers by their names: %w", key, err)
		}
	}
	var servers []*Server
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, err := read(name, all[name])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("the language server %s: %w", termtext.OneLine(name, termtext.MaxTitle), err))
			continue
		}
		if s != nil {
			servers = append(servers, s)
		}
	}
	return servers, errors.Join(wrong...)
}

// read returns a server; nil means that the text configures none.
func read(name string, raw json.RawMessage) (*Server, error) {
	if name == "$schema" {
		return nil, nil
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	s := &Server{Name: name, Env: e.Env, Off: e.Disabled, Init: first(e.Init1, e.Init2, e.Init3), Settings: first(e.Settings, e.Options), Languages: map[string]string{}}
	var one string
	if json.Unmarshal(e.Command, &one) == nil && one != "" {
		s.Command = append([]string{one}, e.Args...)
	} else if len(e.Command) > 0 {
		if err := json.Unmarshal(e.Command, &s.Command); err != nil {
			return nil, errors.New(`command is no text and no list of texts`)
		}
		s.Command = append(s.Command, e.Args...)
	}
	for _, m := range []map[string]string{e.ExtensionToLanguage, e.FileExtensions} {
		for ext, id := range m {
			s.Languages[dotted(ext)] = id
		}
	}
	for _, ext := range slices.Concat(e.Extensions, e.Filetypes, e.FileTypes) {
		for ext, id := range extensionsOf(ext) {
			s.Languages[ext] = id
		}
	}
	fill(s)
	switch {
	case s.Off:
	case len(s.Command) == 0 || s.Command[0] == "":
		return nil, errors.New("command is missing: write the program and its arguments")
	case e.Transport != "" && e.Transport != "stdio":
		return nil, fmt.Errorf("transport is %.20q, and only stdio is spoken here", e.Transport)
	case len(s.Languages) == 0:
		return nil, errors.New("it names no extensions of files: write extensionToLanguage, as {\".go\": \"go\"}")
	}
	return s, nil
}

// fill adds to a server of a known name what its file leaves out.
func fill(s *Server) {
	i := slices.IndexFunc(known, func(k Server) bool {
		return k.Name == s.Name || len(s.Command) > 0 && filepath.Base(s.Command[0]) == k.Command[0]
	})
	if i < 0 {
		return
	}
	if len(s.Command) == 0 {
		s.Command = known[i].Command
	}
	if len(s.Languages) == 0 {
		s.Languages = known[i].Languages
	}
	s.Init = first(s.Init, known[i].Init)
	s.caches = known[i].caches
}

func first(all ...json.RawMessage) json.RawMessage {
	for _, raw := range all {
		if len(raw) > 0 && string(raw) != "null" {
			return raw
		}
	}
	return nil
}

func dotted(ext string) string { return "." + strings.ToLower(strings.TrimLeft(ext, "*.")) }

// extensionsOf returns the extensions of a language's name, or of the extension itself.
func extensionsOf(name string) map[string]string {
	byName := map[string]string{}
	for _, k := range known {
		for ext, id := range k.Languages {
			if ext == dotted(name) {
				return map[string]string{ext: id}
			}
			if id == name {
				byName[ext] = id
			}
		}
	}
	if len(byName) > 0 {
		return byName
	}
	return map[string]string{dotted(name): strings.TrimLeft(name, "*.")}
}
