package listing

import (
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/input"
)

// maxToolDescription bounds the description of a tool that calls one agent, in
// characters: hosts show all tools to their models at once.
const maxToolDescription = 1000

// Agents describes the tools that call one agent each, as of now.
func (t Tools) Agents() []*mcp.Tool {
	offer := t.Tasks.Offer()
	agents, reading := offer.Agents, offer.ReadOnlyAgents
	schema := offer.Spec(input.Presentation{OneAgent: true}).InputSchema
	tools := make([]*mcp.Tool, 0, len(agents))
	for i, name := range toolsOf(agents) {
		annotations := hints()
		annotations.ReadOnlyHint = t.ReadOnly || slices.Contains(reading, agents[i].Name)
		description := hosts.HeadOf(strings.TrimSpace(agents[i].Description), maxToolDescription, hosts.Size{Max: maxToolDescription})
		tools = append(tools, &mcp.Tool{
			Name:        name,
			Title:       "Give a task to " + termtext.OneLine(agents[i].Name, termtext.MaxTitle),
			Description: description + "\n\nThe same as task with this agent: it sees nothing of this conversation.",
			InputSchema: schema,
			Annotations: annotations,
			Meta:        resultMeta(),
		})
	}
	return tools
}

// AgentOf returns the agent that a tool calls; empty means that there is no such tool.
func (t Tools) AgentOf(tool string) string {
	if !strings.HasPrefix(tool, agentPrefix) {
		return ""
	}
	agents := t.Tasks.Offer().Agents
	if i := slices.Index(toolsOf(agents), tool); i >= 0 {
		return agents[i].Name
	}
	return ""
}

// toolsOf returns the names of the tools of agents.
func toolsOf(agents []taskt.Agent) []string {
	names := make([]string, len(agents))
	for i, a := range agents {
		names[i] = a.Name
	}
	return toolNames(names)
}
