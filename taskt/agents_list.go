package taskt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/tool"
)

// agentsTool tells a model which agents it may call, as they are now. Hosts have
// the same list in the schema of task, or ask for it in their own ways.
type agentsTool struct {
	service *Service
	caller  offer.Caller
}

var _ tool.Tool = (*agentsTool)(nil)

var agentsInput = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// Spec implements [tool.Tool].
func (t *agentsTool) Spec() tool.Spec {
	return tool.Spec{
		Name:         "agents_list",
		Description:  "Lists the agents that you may call with task now: name, other names, what each is good for, what it may do.",
		InputSchema:  agentsInput,
		ReadOnly:     true,
		Unavailable:  len(t.service.offers.Current().Of(t.caller).Agents) == 0,
		Follows:      toolcatalog.Task,
		OwnTimeLimit: true,
	}
}

// Values implements [tool.Tool]: it shows nothing that task does not.
func (t *agentsTool) Values(args json.RawMessage) ([]permission.Value, error) {
	return nil, strictjson.Decode(args, new(struct{}))
}

// Describe implements [tool.Tool].
func (t *agentsTool) Describe(*tool.Call) tool.Description {
	return tool.Description{Title: "list the agents that it may call"}
}

// Run implements [tool.Tool].
func (t *agentsTool) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	rules := permission.Layers{Defaults: permission.Defaults()}
	if call.Rules != nil {
		rules = *call.Rules
	}
	var b strings.Builder
	for _, d := range t.service.offers.Current().Of(t.caller).Agents {
		fmt.Fprintf(&b, "- %s", d.Name)
		if len(d.Aliases) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(d.Aliases, ", "))
		}
		fmt.Fprintf(&b, ": %s May: %s.\n", strings.TrimSpace(d.Description), d.May(rules))
	}
	if b.Len() == 0 {
		return tool.Result{Text: "There is no agent that you may call."}, nil
	}
	return tool.Result{Text: b.String()}, nil
}
