package agentdefs

import (
	"embed"
	"fmt"

	"github.com/agentworker/worker/permission"
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
		res := parse(name+".md", data, opts)
		if res.def == nil || len(res.diagnostics) > 0 {
			return nil, fmt.Errorf("reading built-in agent %s: %v", name, res.diagnostics)
		}
		var rules []permission.Rule
		for r := range res.def.Permission.Rules() {
			r.Source = permission.Source{File: sourceBuiltin}
			rules = append(rules, r)
		}
		if res.def.Permission, err = permission.NewRuleset(rules...); err != nil {
			return nil, fmt.Errorf("reading built-in agent %s: %w", name, err)
		}
		res.def.BuiltIn, res.def.File, res.def.Line = true, "", 0
		out = append(out, served{def: res.def, base: res.def, digest: digestOf(res.def, opts.Home)})
	}
	return out, nil
}
