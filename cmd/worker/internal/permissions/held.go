package permissions

import (
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// hold reports whether the sandbox holds calls of the tool to the layers, and notes it
// there.
func (e *evaluator) hold(name string, layers *permission.Layers) bool {
	if t, ok := e.tools[name].(tool.Sandboxed); ok {
		layers.Held, _ = t.Held("permission", layers)
	}
	return layers.Held
}

// Bounds of what is looked at for "held".
const (
	maxHeldNames = 50_000 // of the workspace
	maxHeldFiles = 1_000
)

// heldFiles returns the files of the workspace, and those in a line of the shell, that the
// layers deny. Only the sandbox keeps the line from them. Their paths are relative to the
// workspace.
func (e *evaluator) heldFiles(layers *permission.Layers, args json.RawMessage) []string {
	held := []string{}
	add := func(path string) {
		if len(held) < maxHeldFiles && e.deniesFile(layers, path) && !slices.Contains(held, path) {
			held = append(held, path)
		}
	}
	var line struct{ Command string }
	if err := json.Unmarshal(args, &line); err == nil {
		for _, word := range strings.FieldsFunc(line.Command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()'\"`=:,{}$@", r) }) {
			if len(word) > 2 && word[0] == '-' && word[1] != '-' { // "-oFILE"
				word = word[2:]
			}
			if word = path.Clean(word); filepath.IsLocal(word) {
				add(word)
			}
		}
	}
	names := 0
	_ = filepath.WalkDir(e.ws.Root, func(at string, d fs.DirEntry, err error) error {
		if names++; names > maxHeldNames || len(held) >= maxHeldFiles {
			return filepath.SkipAll
		}
		switch {
		case err != nil:
			return nil
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		if rel, err := filepath.Rel(e.ws.Root, at); err == nil {
			add(filepath.ToSlash(rel))
		}
		return nil
	})
	return held
}

// deniesFile reports whether a rule denies reading or writing the file.
func (e *evaluator) deniesFile(layers *permission.Layers, path string) bool {
	for _, name := range toolcatalog.FileTools {
		value := permission.Value{Tool: name, Text: path, Abs: filepath.ToSlash(filepath.Join(e.ws.Root, path))}
		if layers.Decide([]permission.Value{value}).Action == permission.Deny {
			return true
		}
	}
	return false
}

// sandboxDocument is what a command of the shell can't touch, whatever it runs.
type sandboxDocument struct {
	sandbox.Plan      // its paths are relative to the workspace
	Network      bool `json:"network"` // some host may be reached, through the gate
}

// sandboxOf returns what holds calls of the tool to the layers; nil means it starts no
// program.
func (e *evaluator) sandboxOf(name string, layers *permission.Layers) (*sandboxDocument, error) {
	if _, ok := e.tools[name].(tool.Sandboxed); !ok {
		return nil, nil
	}
	profile := e.files.SandboxProfile(layers, false)
	plan, err := e.files.SandboxPlan(profile)
	if err != nil {
		return nil, err
	}
	shown := &sandboxDocument{Plan: *plan, Network: profile.Hosts && plan.Backend != sandbox.Landlock}
	shown.Hidden, shown.ReadOnly = []string{}, []string{}
	for _, path := range plan.Hidden {
		shown.Hidden = append(shown.Hidden, profile.Shown(path))
	}
	for _, path := range plan.ReadOnly {
		shown.ReadOnly = append(shown.ReadOnly, profile.Shown(path))
	}
	return shown, nil
}
