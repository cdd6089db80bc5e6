package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

func (p *program) permissionCommand() *cobra.Command {
	return group("permission", "See what the permission rules say of tool calls", p.permissionEvalCommand(), p.permissionExplainCommand())
}

// judge knows the values of tool calls in a workspace.
type judge struct {
	ws    *workspace.Workspace
	files *tool.Workspace
	tools map[string]tool.Tool
}

// openJudge opens the workspace for looking at calls; nothing is written.
func (p *program) openJudge() (*judge, error) {
	ws, err := p.workspace()
	if err != nil {
		return nil, err
	}
	files, err := tool.OpenWorkspace(ws.Root, &tool.Options{Env: p.environ, Home: ws.Home})
	if err != nil {
		return nil, err
	}
	j := &judge{ws: ws, files: files, tools: make(map[string]tool.Tool)}
	for _, t := range tool.Builtin(files) {
		j.tools[t.Spec().Name] = t
	}
	return j, nil
}

func (j *judge) close() error { return j.files.Close() }

// values returns what a call wants, as the tool itself says. The value of task
// is the agent's name; that of a tool which is not built in is "*", the call as
// such. An error: the tool refuses the arguments, whatever the rules say.
func (j *judge) values(name string, args json.RawMessage) ([]permission.Value, error) {
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
