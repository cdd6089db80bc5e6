package hookconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/internal/boundedfile"
)

// Form is where a program has hooks.
type Form struct {
	Program string   // as --hooks-from names it, for its User files
	Project []string // its files, relative to the workspace; "dir/*.json" are all of a folder
	User    []string // its files, relative to the home folder
	TOML    bool
}

// Forms has a row for each program. The form of the hooks themselves is one: see [Parse].
var Forms = []Form{
	{Program: "claude", Project: []string{".claude/settings.json", ".claude/settings.local.json"}, User: []string{".claude/settings.json"}},
	{Program: "copilot", Project: []string{".github/hooks/*.json"}, User: []string{".copilot/hooks/*.json"}},
	{Program: "codex", Project: []string{".codex/hooks.json"}, User: []string{".codex/hooks.json"}},
	{Program: "codex", Project: []string{".codex/config.toml"}, User: []string{".codex/config.toml"}, TOML: true},
}

// Programs returns the programs whose user's files can be read besides, sorted.
func Programs() []string {
	var names []string
	for _, f := range Forms {
		names = append(names, f.Program)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// maxFile bounds a file, in bytes.
const maxFile = 4 << 20

// File is a file to read hooks from. A Path that ends in "*.json" is all such files of a
// folder.
type File struct {
	Path       string
	Shown      string // for people
	Repository bool
	TOML       bool
}

// Files returns the files that can hold hooks. It adds the user's files of the programs in from,
// or of all programs if from has "all".
func Files(root, home string, from []string) []File {
	var files []File
	for _, f := range Forms {
		for _, name := range f.Project {
			files = append(files, File{filepath.Join(root, filepath.FromSlash(name)), name, true, f.TOML})
		}
		if home == "" || home == root || !slices.Contains(from, f.Program) && !slices.Contains(from, "all") {
			continue
		}
		for _, name := range f.User {
			files = append(files, File{filepath.Join(home, filepath.FromSlash(name)), "~/" + name, false, f.TOML})
		}
	}
	return files
}

// Expand returns the files that exist now.
func Expand(files []File) []File {
	var found []File
	for _, f := range files {
		dir, last := filepath.Split(f.Path)
		if last != "*.json" {
			found = append(found, f)
			continue
		}
		entries, _ := os.ReadDir(dir) // one that can't be read has none
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".json") {
				one := f
				one.Path, one.Shown = filepath.Join(dir, e.Name()), strings.TrimSuffix(f.Shown, "*.json")+e.Name()
				found = append(found, one)
			}
		}
	}
	return found
}

// Read returns the hooks of a file. A file that is not there has none.
func (f File) Read() ([]*Hook, error) {
	text, err := boundedfile.Read(f.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	hooks, err := f.parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Shown, err)
	}
	for _, h := range hooks {
		h.File, h.Repository = f.Shown, f.Repository
	}
	return hooks, nil
}

func (f File) parse(text []byte) ([]*Hook, error) {
	data := bytes.TrimPrefix(bytes.Clone(text), []byte("\uFEFF"))
	if f.TOML {
		var all map[string]any
		if err := toml.Unmarshal(data, &all); err != nil {
			return nil, err
		}
		made, err := json.Marshal(all)
		if err != nil {
			return nil, fmt.Errorf("a value has no JSON form: %w", err)
		}
		data = made
	} else {
		made, err := hujson.Standardize(data)
		if err != nil {
			return nil, err
		}
		data = made
	}
	var all struct {
		Hooks           json.RawMessage `json:"hooks"`
		DisableAllHooks bool            `json:"disableAllHooks"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, errors.New("it is no object, or disableAllHooks is neither true nor false")
	}
	if len(all.Hooks) == 0 || all.DisableAllHooks {
		return nil, nil
	}
	hooks, err := Parse(all.Hooks)
	from := map[string]int{}
	for _, h := range hooks {
		quoted, _ := json.Marshal(h.Command + h.URL)
		h.Line, from[string(quoted)] = lineOf(text, quoted, from[string(quoted)])
	}
	return hooks, err
}

// lineOf returns the line on which a text is written, from an offset on, and where it ends; 0
// means none.
func lineOf(text, quoted []byte, from int) (line, end int) {
	for _, form := range [][]byte{quoted, unescaped(quoted)} {
		if at := bytes.Index(text[from:], form); at >= 0 && len(form) > 2 {
			at += from
			return bytes.Count(text[:at], []byte("\n")) + 1, at + len(form)
		}
	}
	return 0, from
}

// unescaped is a text in quotes as people write it, who leave <, > and & as they are.
func unescaped(quoted []byte) []byte {
	for _, pair := range [][2]string{{`\u003c`, "<"}, {`\u003e`, ">"}, {`\u0026`, "&"}} {
		quoted = bytes.ReplaceAll(quoted, []byte(pair[0]), []byte(pair[1]))
	}
	return quoted
}
