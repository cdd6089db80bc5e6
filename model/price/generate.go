//go:build ignore

// Command generate writes listed.json: the models of the providers of model/provider, as a clone of
// https://github.com/anomalyco/models.dev has them. Its two arguments are the clone and the
// commit's day and name: go run generate.go ../models.dev "2026-07-02, f3fc6922"
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/agentworker/worker/model/provider"
)

func main() {
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(clone, commit string) error {
	all := make(map[string][]string) // the lines of the models of a provider
	dirs, err := os.ReadDir(filepath.Join(clone, "providers"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		name := provider.OfModelsDev(dir.Name())
		if name == "" {
			continue
		}
		if all[name], err = models(clone, filepath.Join(clone, "providers", dir.Name(), "models")); err != nil {
			return err
		}
	}
	day, _, _ := strings.Cut(commit, ",")
	var out bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "%s%q:{\"source\":%q,\"date\":%q,\"models\":{\n%s}}", map[bool]string{true: "{"}[i == 0], name,
			"https://github.com/anomalyco/models.dev, "+commit, day, strings.Join(all[name], ",\n"))
		out.WriteString(map[bool]string{true: "}\n", false: ",\n"}[i == len(all)-1])
	}
	return os.WriteFile("listed.json", out.Bytes(), 0o644)
}

// model is what is kept of one.
type model struct {
	Limit struct {
		Context int64 `json:"context" toml:"context"`
		Input   int64 `json:"input,omitempty" toml:"input"`
		Output  int64 `json:"output" toml:"output"`
	} `json:"limit" toml:"limit"`
	Modalities struct {
		Input  []string `json:"input" toml:"input"`
		Output []string `json:"-" toml:"output"`
	} `json:"modalities" toml:"modalities"`
	Cost     map[string]any `json:"cost,omitempty" toml:"cost"`
	Status   string         `json:"-" toml:"status"`
	ToolCall bool           `json:"-" toml:"tool_call"`
	Base     string         `json:"-" toml:"base_model"`
}

// models returns a line for each model that is not deprecated, writes text, and calls tools.
func models(clone, dir string) (lines []string, err error) {
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".toml") {
			return err
		}
		var m model
		if _, err := toml.DecodeFile(file, &m); err != nil {
			return err
		}
		if m.Base != "" { // what the file says itself counts more
			if _, err := toml.DecodeFile(filepath.Join(clone, "models", m.Base+".toml"), &m); err != nil {
				return err
			}
			if _, err := toml.DecodeFile(file, &m); err != nil {
				return err
			}
		}
		if m.Status == "deprecated" || !m.ToolCall || !slices.Contains(m.Modalities.Output, "text") {
			return nil
		}
		kept := map[string]any{} // of the prices, what is read
		for _, name := range []string{"input", "output", "cache_read", "cache_write", "tiers"} {
			if value, ok := m.Cost[name]; ok {
				kept[name] = value
			}
		}
		if m.Cost = kept; strings.HasSuffix(filepath.Dir(dir), "github-models") {
			m.Cost = nil // all are 0 there, which only the free quota costs
		}
		m.Modalities.Input = slices.DeleteFunc(m.Modalities.Input, func(kind string) bool { return kind != "text" && kind != "image" })
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		id := filepath.ToSlash(strings.TrimSuffix(strings.TrimPrefix(file, dir+string(filepath.Separator)), ".toml"))
		lines = append(lines, fmt.Sprintf("%q:%s", id, text))
		return nil
	})
	slices.Sort(lines)
	return lines, err
}
