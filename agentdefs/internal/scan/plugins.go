package scan

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/disk"
)

// Bounds of a workspace.
const (
	maxPlugins = 500 // folders that are looked at
	maxNamed   = 100 // files and folders that a plugin names for its agents
)

// Plugin is a plugin in a workspace.
type Plugin struct {
	Name  string
	Dir   string   // relative to the root, slash-separated
	Files []string // its manifest, and the marketplace that names it
	named []string // its agents: folders and files, relative to Dir
}

// paths are one path, or several.
type paths []string

func (p *paths) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*p = paths{one}
		return nil
	}
	var all []string
	if json.Unmarshal(data, &all) == nil { // another form names no path
		*p = all
	}
	return nil
}

// manifest is what matters of a plugin.json, or of an entry of a marketplace.
type manifest struct {
	Name   string          `json:"name"`
	Source json.RawMessage `json:"source"`
	Agents paths           `json:"agents"`
}

// Plugins finds the plugins in the workspace at root: the workspace itself, and folders named by its
// marketplaces. look gets each file that matters; it may be nil.
func Plugins(d *disk.Disk, root string, look func(shown string)) (all []Plugin) {
	read := func(shown string, into any) bool {
		if look != nil {
			look(shown)
		}
		at := filepath.Join(root, filepath.FromSlash(shown))
		if !d.Exists(at) {
			return false
		}
		got, err := d.ReadFile(at)
		return err == nil && json.Unmarshal(got.Data, into) == nil
	}
	tried := make(map[string]bool) // whether a plugin is there
	add := func(p Plugin, listed bool) {
		if have, again := tried[p.Dir]; have || !again && len(tried) == maxPlugins || again && p.Name == "" {
			return
		}
		for _, file := range dialect.Manifests {
			var m manifest
			shown := path.Join(p.Dir, file)
			if !read(shown, &m) || m.Name == "" {
				continue
			}
			p.Name, p.Files, p.named, listed = m.Name, append(p.Files, shown), append(p.named, m.Agents...), true
			break
		}
		p.named = p.named[:min(len(p.named), maxNamed)]
		if tried[p.Dir] = listed && p.Name != ""; tried[p.Dir] {
			all = append(all, p)
		}
	}
	for _, file := range dialect.Marketplaces {
		var market struct {
			Metadata struct {
				PluginRoot string `json:"pluginRoot"`
			} `json:"metadata"`
			Plugins []manifest `json:"plugins"`
		}
		if !read(file, &market) {
			continue
		}
		for _, m := range market.Plugins {
			var source string
			if json.Unmarshal(m.Source, &source) != nil { // it is elsewhere
				continue
			}
			if dir := path.Join(".", market.Metadata.PluginRoot, source); filepath.IsLocal(filepath.FromSlash(dir)) {
				add(Plugin{Name: m.Name, Dir: dir, Files: []string{file}, named: m.Agents}, true)
			}
		}
	}
	add(Plugin{Dir: "."}, false)
	return all
}

// Folders returns the folders and files of the agents of p.
func (p *Plugin) Folders() (all []dialect.Folder) {
	for _, name := range append(slices.Clone(dialect.PluginFolders), p.named...) {
		shown := path.Join(p.Dir, strings.TrimSuffix(name, "/"))
		if path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(shown)) || shown == "." ||
			slices.ContainsFunc(all, func(have dialect.Folder) bool { return have.Shown == shown || strings.HasPrefix(shown, have.Shown+"/") }) {
			continue
		}
		all = append(all, dialect.Folder{Shown: shown, Nested: true, Plugin: p.Name})
	}
	return all
}

// pluginFolders are the folders of the agents of all plugins.
func pluginFolders(d *disk.Disk, root string, look func(shown string)) (all []dialect.Folder) {
	for _, p := range Plugins(d, root, look) {
		all = append(all, p.Folders()...)
	}
	return all
}
