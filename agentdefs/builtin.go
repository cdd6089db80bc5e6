package agentdefs

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/definition"
)

//go:embed builtin/*.md
var builtinFiles embed.FS

// builtins returns the agents that come with the worker. They are agent files
// like any other, read by the same code.
func builtins(opts *Options) ([]served, error) {
	var out []served
	for _, name := range []string{"explore", "general"} {
		data, err := builtinFiles.ReadFile("builtin/" + name + ".md")
		if err != nil {
			return nil, fmt.Errorf("reading built-in agent %s: %w", name, err)
		}
		res := definition.Parse(name+".md", []byte(fillBuiltin(string(data), opts.Tools)), opts.files())
		if res.Def == nil || len(res.Diagnostics) > 0 {
			return nil, fmt.Errorf("reading built-in agent %s: %v", name, res.Diagnostics)
		}
		res.Def.Permission = builtInRules(res.Def.Permission)
		if tools := toolsOf(res.Def, opts.Tools); tools != "" {
			res.Def.Description += " Its tools here: " + tools + "."
			res.Def.Prompt += "\nThe tools that there are here: " + tools + ".\n"
		}
		res.Def.BuiltIn, res.Def.File, res.Def.Line = true, "", 0
		out = append(out, served{def: res.Def, base: res.Def, digest: definition.DigestOf(res.Def, opts.Home)})
	}
	return out, nil
}

// fillBuiltin fills in what a built-in agent's text says of the tools.
func fillBuiltin(text string, tools []string) string {
	pages := ""
	if slices.Contains(tools, "web_fetch") || slices.Contains(tools, "web_search") {
		pages = ", and pages on the web"
	}
	return strings.ReplaceAll(text, "{{pages}}", pages)
}

// toolsOf names those of the tools that the agent's rules do not deny whatever
// the call.
func toolsOf(def *Definition, tools []string) string {
	var names []string
	for _, name := range tools {
		if !def.Permission.DeniesAll(name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
