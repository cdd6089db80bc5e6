package conversation

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/taskt"
)

// Default is the primary agent where none is named. It has no rules of its own: what it
// may do is what permissions.jsonc says.
var Default = &agentdefs.Definition{
	Name:     taskt.DefaultPrimary,
	Mode:     agentdefs.Primary,
	MaxSteps: 50,
	Prompt: "Answer the user's prompt. Give parts of the work that can be done apart to subagents with the task tool, " +
		"several in one turn where they do not depend on each other, and put what they report together in your answer.",
}

// Find returns the primary agent of a name. Empty, and [Default]'s name where no file has
// it, mean Default.
func Find(snapshot *agentdefs.Snapshot, name string) (*agentdefs.Definition, error) {
	if name == "" {
		return Default, nil
	}
	def, candidates := snapshot.Resolve(name)
	switch {
	case len(candidates) > 0:
		return nil, fmt.Errorf("the agent %q could be any of %s: write it in the same case", name, strings.Join(candidates, ", "))
	case def != nil && def.Mode != agentdefs.Subagent:
		return def, nil
	case def == nil && name == Default.Name:
		return Default, nil
	}
	var names []string
	for _, d := range snapshot.Agents() {
		if d.Mode != agentdefs.Subagent {
			names = append(names, d.Name)
		}
	}
	return nil, fmt.Errorf("there is no primary agent %q%s; there are: %s (an agent file becomes one by 'mode: primary' or 'mode: all')",
		name, suggest.DidYouMean(name, names), cmp.Or(strings.Join(names, ", "), "none"))
}
