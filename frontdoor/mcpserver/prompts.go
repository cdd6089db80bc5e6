package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt"
)

// taskArgument is the argument of every prompt.
const taskArgument = "task"

// prompts are the primary agents as a server offers them: a person who picks
// one has the host's own model work by the agent's instructions. No session of
// ours runs them, so that the agent's rules bind nobody there.
type prompts struct {
	tasks   *taskt.Service
	server  *mcp.Server
	offered map[string]taskt.Primary
}

// addPrompts offers the primary agents of now, and returns what keeps that so
// until the connection ends.
func (c *connection) addPrompts(server *mcp.Server) (follow func()) {
	p := &prompts{tasks: c.tasks, server: server, offered: make(map[string]taskt.Primary)}
	changes := c.tasks.PrimaryChanges(c.ctx)
	p.offer()
	return func() {
		for range changes {
			p.offer()
		}
	}
}

// offer makes the prompts those of now. What changes is one prompts/list_changed.
func (p *prompts) offer() {
	gone := make(map[string]bool)
	for name := range p.offered {
		gone[name] = true
	}
	for _, a := range p.tasks.Primaries() {
		delete(gone, a.Name)
		if p.offered[a.Name] != a {
			p.offered[a.Name] = a
			p.server.AddPrompt(promptOf(a), p.get)
		}
	}
	for name := range gone {
		delete(p.offered, name)
		p.server.RemovePrompts(name)
	}
}

func promptOf(a taskt.Primary) *mcp.Prompt {
	return &mcp.Prompt{
		Name:        a.Name,
		Title:       a.Name,
		Description: termtext.OneLine(a.Description, 1000),
		Arguments:   []*mcp.PromptArgument{{Name: taskArgument, Title: "Task", Description: "what to do; without it, the agent asks"}},
	}
}

// get is the handler of all prompts. An agent is the one of now.
func (p *prompts) get(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	for _, a := range p.tasks.Primaries() {
		if a.Name == req.Params.Name {
			return &mcp.GetPromptResult{
				Description: termtext.OneLine(a.Description, 1000),
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: instruct(a, req.Params.Arguments[taskArgument])}}},
			}, nil
		}
	}
	return nil, fmt.Errorf("there is no primary agent %q any more", req.Params.Name)
}

// instruct is what the host's model gets to read.
func instruct(a taskt.Primary, task string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Work as the agent %s: %s\n", a.Name, a.Description)
	if prompt := strings.TrimSpace(a.Prompt); prompt != "" {
		b.WriteString("\nIts instructions:\n\n" + prompt + "\n")
	}
	if task = strings.TrimSpace(task); task != "" {
		b.WriteString("\nThe task:\n\n" + task + "\n")
	} else {
		b.WriteString("\nAsk what the task is.\n")
	}
	return b.String()
}
