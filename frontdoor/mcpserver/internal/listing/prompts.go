package listing

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/taskt"
)

// taskArgument is the argument of every prompt.
const taskArgument = "task"

// Prompts offers the primary agents of a service. A person who picks one has the host's
// own model work by the agent's instructions. No session of ours runs it, so the agent's
// rules bind nobody there.
type Prompts struct {
	tasks   *taskt.Service
	server  *mcp.Server
	changes iter.Seq[struct{}]
	offered map[string]taskt.Primary
}

// NewPrompts adds the primary agents of now to a server. [Prompts.Follow] keeps them up
// to date until ctx ends.
func NewPrompts(ctx context.Context, tasks *taskt.Service, server *mcp.Server) *Prompts {
	p := &Prompts{tasks, server, tasks.PrimaryChanges(ctx), make(map[string]taskt.Primary)}
	p.update()
	return p
}

// Follow updates the prompts with each change of the primary agents.
func (p *Prompts) Follow() {
	for range p.changes {
		p.update()
	}
}

// update makes the prompts those of now. Each call of the SDK that changes something
// has it send prompts/list_changed.
func (p *Prompts) update() {
	old := maps.Clone(p.offered)
	for _, a := range p.tasks.Primaries() {
		delete(old, a.Name)
		if p.offered[a.Name] != a {
			p.offered[a.Name] = a
			p.server.AddPrompt(promptOf(a), p.get)
		}
	}
	for name := range old {
		delete(p.offered, name)
		p.server.RemovePrompts(name)
	}
}

func promptOf(a taskt.Primary) *mcp.Prompt {
	return &mcp.Prompt{
		Name:        a.Name,
		Title:       a.Name,
		Description: termtext.OneLine(a.Description, termtext.MaxReport),
		Arguments:   []*mcp.PromptArgument{{Name: taskArgument, Title: "Task", Description: "what to do; without it, the agent asks"}},
	}
}

// get is the handler of all prompts. It answers with the agent's current definition.
func (p *Prompts) get(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	for _, a := range p.tasks.Primaries() {
		if a.Name == req.Params.Name {
			return &mcp.GetPromptResult{
				Description: termtext.OneLine(a.Description, termtext.MaxReport),
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
