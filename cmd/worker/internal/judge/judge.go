// Package judge says what the permission rules decide on tool calls, without
// running them.
package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Judge knows the values of tool calls in a workspace.
type Judge struct {
	ws    *workspace.Workspace
	files *tool.Workspace
	tools map[string]tool.Tool
}

// Open opens a workspace for looking at calls; nothing is written.
func Open(ws *workspace.Workspace, opts *tool.Options) (*Judge, error) {
	files, err := tool.OpenWorkspace(ws.Root, opts)
	if err != nil {
		return nil, err
	}
	j := &Judge{ws: ws, files: files, tools: make(map[string]tool.Tool)}
	for _, t := range tool.Builtin(files) {
		j.tools[t.Spec().Name] = t
	}
	return j, nil
}

// Close closes the workspace.
func (j *Judge) Close() error { return j.files.Close() }

// ToolNames returns the names that rules may be about: those of built-in tools, of
// what stands beside them, and of what hosts add.
func (j *Judge) ToolNames() []string {
	return append(slices.Sorted(maps.Keys(j.tools)), "skill", "task", "web_fetch", "web_search", tool.NetworkTool)
}

// Values returns what a call wants, as the tool itself says. The value of task
// is the agent's name; that of a tool which is not built in is "*", the call as
// such. An error: the tool refuses the arguments, whatever the rules say.
func (j *Judge) Values(name string, args json.RawMessage) ([]permission.Value, error) {
	if t, ok := j.tools[name]; ok {
		return t.Values(args)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, fmt.Errorf("%s: arguments: %w", name, err)
	}
	text := "*"
	if name == "task" {
		if err := json.Unmarshal(object["agentType"], &text); err != nil || text == "" {
			return nil, fmt.Errorf("task: arguments: want agentType, the name of an agent")
		}
	}
	return []permission.Value{{Tool: name, Text: text}}, nil
}
