package access

import (
	"maps"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// ruleList returns the rules of opencode 2: a list of action, resource and effect, of which the last
// that matches counts (https://opencode.ai/v2/docs/permissions/).
func (p *Reader) ruleList(e agentfile.Entry) []Clause {
	var blocks []*yaml.Node
	denied := map[string]bool{} // as a whole, by any of them
	for _, item := range e.Node.Content {
		rule := map[string]*yaml.Node{}
		for i := 0; item.Kind == yaml.MappingNode && i+1 < len(item.Content); i += 2 {
			if key, value := item.Content[i], item.Content[i+1]; value.Kind == yaml.ScalarNode && value.Tag == "!!str" {
				rule[key.Value] = value
			}
		}
		action, resource, effect := rule["action"], rule["resource"], rule["effect"]
		if action == nil || resource == nil || effect == nil || len(item.Content) != 6 {
			p.Refuse(diag.PermissionInvalid, item.Line, item.Column, `write rules such as {"action": "edit", "resource": "*", "effect": "deny"}`,
				"%s: a rule has an action, a resource and an effect, and nothing else", e.Key)
			return nil
		}
		if action.Value == "subagent" {
			action.Value = toolcatalog.Task
		}
		value := mapping(item, resource, effect)
		if resource.Value == "*" { // of all that the tool does
			value = effect
		}
		block := mapping(item, action, value)
		blocks = append(blocks, block)
		maps.Copy(denied, deniedWriters(block))
	}
	var clauses []Clause
	for _, block := range blocks {
		clauses = append(clauses, p.permissionBlock(e, block, denied)...)
	}
	return clauses
}
