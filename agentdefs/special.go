package agentdefs

import (
	"fmt"
	"sync"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/permission"
)

// The agents that work for the worker itself. They are agent files like any other; no
// list has them, and no call can name them.
const (
	Compaction = "compaction" // summarises a conversation that becomes too long
	Title      = "title"      // gives a session its title
	Summary    = "summary"    // says what a session has done, for people
)

// Special returns one of the agents that work for the worker itself: the file of that
// name, if it is served and hidden, else the built-in one.
func (s *Snapshot) Special(name string) *Definition {
	if d, ok := s.Agent(name); ok && d.Hidden {
		return d
	}
	return specials()[name]
}

// specials are the built-in ones. They do not depend on anything.
var specials = sync.OnceValue(func() map[string]*Definition {
	all := make(map[string]*Definition)
	for _, name := range []string{Compaction, Title, Summary} {
		data, err := builtinFiles.ReadFile("builtin/" + name + ".md")
		if err != nil {
			panic(err) // it is built in
		}
		parsed := definition.Parse(name+".md", data, definition.Options{})
		if parsed.Def == nil || len(parsed.Diagnostics) > 0 {
			panic(fmt.Sprintf("reading the built-in agent %s: %v", name, parsed.Diagnostics))
		}
		parsed.Def.BuiltIn, parsed.Def.File, parsed.Def.Line = true, "", 0
		parsed.Def.Permission = builtInRules(parsed.Def.Permission)
		all[name] = parsed.Def
	}
	return all
})

// builtInRules returns the same rules, whose source is the worker.
func builtInRules(own *permission.Ruleset) *permission.Ruleset {
	var rules []permission.Rule
	for r := range own.Rules() {
		r.Source = permission.Source{File: access.BuiltIn}
		rules = append(rules, r)
	}
	same, err := permission.NewRuleset(rules...)
	if err != nil {
		panic(err) // they were one already
	}
	return same
}
