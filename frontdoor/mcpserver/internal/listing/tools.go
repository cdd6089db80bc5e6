// Package listing has what a connection lists: its tools, as they are put to each host,
// and its prompts.
package listing

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/input"
)

// Tools describes the tools of a connection.
type Tools struct {
	Tasks    *taskt.Service
	ReadOnly bool // all that call an agent are said to change nothing
}

// SideBySide reports whether a host runs the calls of one turn side by side.
func (t Tools) SideBySide(h hosts.Host) bool { return h.SideBySide(t.readOnly()) }

func (t Tools) readOnly() bool { return t.ReadOnly || t.Tasks.Offer().ReadOnly }

// Task describes the task tool as of now, to a host. nil means that there is none: no
// agent can be called.
func (t Tools) Task(h hosts.Host) *mcp.Tool {
	offer := t.Tasks.Offer()
	if len(offer.Agents) == 0 {
		return nil
	}
	spec := offer.Spec(input.Presentation{SideBySide: t.SideBySide(h), AnyName: h.OwnEnum})
	annotations := hints()
	annotations.ReadOnlyHint = t.readOnly()
	return &mcp.Tool{
		Name:        spec.Name,
		Title:       "Give a task to a subagent",
		Description: truncateDescriptions(spec.Description, offer.Agents),
		InputSchema: spec.InputSchema,
		Annotations: annotations,
		Meta:        resultMeta(),
	}
}

// Unlisted is the task tool's place in a server, whose list [Tools.Task] then completes.
func Unlisted() *mcp.Tool {
	return &mcp.Tool{Name: toolcall.Task, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

// Control describes an operation on the subagents of a connection.
func Control(op *control.Operation) *mcp.Tool {
	annotations := hints()
	annotations.IdempotentHint, annotations.ReadOnlyHint = !op.Once, op.ReadOnly
	schema := op.InputSchema
	if op.Name == toolcall.TaskWait {
		schema = withAttempts(schema)
	}
	return &mcp.Tool{
		Name: op.Name, Title: op.Title, Description: op.Description, InputSchema: schema, Annotations: annotations, Meta: resultMeta(),
	}
}

// withAttempts adds to the schema of task_wait what makes a call differ from the
// one before.
func withAttempts(schema json.RawMessage) json.RawMessage {
	return bytes.Replace(schema, []byte(`"properties":{`), []byte(`"properties":{`+
		`"attempt":{"type":"number","description":"as the answer of the call before says: it makes the calls differ"},`+
		`"sinceSeconds":{"type":"number","description":"as the answer of the call before says"},`), 1)
}

// AgentsList describes the tool that lists the agents.
func AgentsList() *mcp.Tool {
	annotations := hints()
	annotations.IdempotentHint, annotations.ReadOnlyHint = true, true
	return &mcp.Tool{
		Name:  toolcall.AgentsList,
		Title: "List the subagents",
		Description: "Lists the subagents that the task tool accepts as agentType, with their whole descriptions, as JSON. " +
			"Where there are too many for one result, nextOffset is the offset with which the list goes on.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"offset":{"type":"integer","minimum":0,"description":"how many to pass over; 0 without it"}},` +
			`"additionalProperties":false}`),
		Annotations: annotations,
		Meta:        resultMeta(),
	}
}

// hints are those of a tool that works in the workspace. A child's permissions hold
// what it may do. Without these two hints "codex exec" refuses the call.
func hints() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)}
}

// resultMeta asks Claude Code to offer the tool without a search, and to take its
// results in full.
func resultMeta() mcp.Meta {
	return mcp.Meta{"anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": hosts.MaxResultChars}
}
