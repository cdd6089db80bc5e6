package permissions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/mcpclient"
)

// evaluator knows what tool calls want in a workspace, without running them.
type evaluator struct {
	ws    *workspace.Workspace
	files *tool.Workspace
	tools map[string]tool.Tool
}

// evaluate has do evaluate calls in the workspace. Nothing is written there.
func (p commands) evaluate(do func(*evaluator) error) (err error) {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	if _, err := p.OpenPolicy(); err != nil {
		return err
	}
	files, err := tool.OpenWorkspace(ws.Root, p.ToolOptions(ws))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	e := &evaluator{ws, files, make(map[string]tool.Tool)}
	for _, t := range app.BuiltinTools(p.Program, files, app.NewLanguageServers(p.Program, ws).In(files), "") {
		e.tools[t.Spec().Name] = t
	}
	return do(e)
}

// values returns what a call wants, as its tool says. The value of task is the agent's name, and
// the values of an MCP server's tool are its arguments. Any other tool that is not built in has
// the value "*", the call as such. With an error the tool refuses the arguments, whatever the
// rules say.
func (e *evaluator) values(name string, args json.RawMessage) ([]permission.Value, error) {
	if t, ok := e.tools[name]; ok {
		return t.Values(args)
	}
	if strings.HasPrefix(name, "mcp__") {
		return mcpclient.Values(name, args)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, fmt.Errorf("%s: arguments: %w", name, err)
	}
	text := "*"
	for _, named := range []struct{ tool, argument, of string }{{toolcatalog.Task, "agentType", "an agent"}, {toolcatalog.Skill, "name", "a skill"}} {
		if name != named.tool {
			continue
		}
		if err := json.Unmarshal(object[named.argument], &text); err != nil || text == "" {
			return nil, fmt.Errorf("%s: arguments: want %s, the name of %s", name, named.argument, named.of)
		}
	}
	return []permission.Value{{Tool: name, Text: text}}, nil
}
