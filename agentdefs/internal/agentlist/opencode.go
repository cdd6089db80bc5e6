package agentlist

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
)

// ownAgents are the agents that opencode has without any file, and that this worker has not. An entry
// without a description changes one of them.
var ownAgents = []string{"build", "plan", "scout", "title", "summary", "compaction"}

// opencode reads the agents of opencode.json: mode, whose agents are primary, and agent.
func opencode(p *agentfile.Reader, root *yaml.Node) (entries []Entry, ok bool) {
	ok = true
	for _, block := range []string{"mode", "agent"} {
		_, agents := find(root, block)
		if agents == nil || agentfile.IsNull(agents) {
			continue
		}
		if !isMapping(p, agents, block) {
			ok = false
			continue
		}
		pairs(agents, func(name, value *yaml.Node) {
			called := strings.TrimSpace(name.Value)
			_, described := find(value, "description")
			if called == "" || described == nil && slices.Contains(ownAgents, called) {
				return
			}
			e := Entry{Key: block + "." + called, Name: called, Line: name.Line, Column: name.Column}
			if value.Kind == yaml.MappingNode {
				e.Fields = value
			}
			if _, said := find(value, "mode"); said == nil && block == "mode" && e.Fields != nil {
				primary := *value
				primary.Content = append(slices.Clone(value.Content), scalar(name, "mode"), scalar(name, "primary"))
				e.Fields = &primary
			}
			entries = append(entries, e)
		})
	}
	return entries, ok
}
