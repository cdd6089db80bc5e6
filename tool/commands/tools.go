package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Tools returns the tools for the commands that shell_exec has started in the background. They
// come with that tool, which is among the built-in ones. Paths are those of its command lines.
func Tools(builtin []tool.Tool, paths permission.Workspace) []tool.Tool {
	return []tool.Tool{
		newInputTool(builtin, paths),
		&commandTool[outputArgs]{
			spec: tool.Spec{
				Name: toolcatalog.ShellOutput, ReadOnly: true, OwnTimeLimit: true, Follows: toolcatalog.ShellExec, InputSchema: outputSchema,
				Description: fmt.Sprintf("Reads what a command in the background has written, and says whether it runs or how it has ended. "+
					"It begins where your last look at the command ended. With waitSeconds it waits for more, with until for a line that matches. "+
					"Output over %d KiB is cut in the middle.", maxShown>>10),
			},
			title: "read the output of a command in the background",
			run:   (*Commands).output,
		},
		&commandTool[stopArgs]{
			spec: tool.Spec{
				Name: toolcatalog.ShellStop, OwnTimeLimit: true, Follows: toolcatalog.ShellExec, InputSchema: stopSchema,
				Description: "Stops a command in the background with all that it has started, and gives the end of its output.",
			},
			title: "stop a command in the background",
			run:   (*Commands).stopOne,
		},
	}
}

// commandTool is a tool about the commands of the session that calls it.
type commandTool[A any] struct {
	spec  tool.Spec
	title string
	run   func(s *Commands, ctx context.Context, args A) (tool.Result, error)
}

// Spec implements [tool.Tool].
func (t *commandTool[A]) Spec() tool.Spec { return t.spec }

// Values implements [tool.Tool]: there are none, since the command itself was judged when it was
// started, and whoever may not run commands any more is refused.
func (t *commandTool[A]) Values(raw json.RawMessage) ([]permission.Value, error) {
	_, err := decode[A](raw)
	return nil, err
}

// Describe implements [tool.Tool].
func (t *commandTool[A]) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments(t.title, call.Args)
}

// Run implements [tool.Tool].
func (t *commandTool[A]) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	args, err := decode[A](call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	s, err := of(call)
	if err != nil {
		return tool.Result{}, err
	}
	return t.run(s, ctx, args)
}

// of returns the commands of the session that makes a call.
func of(call *tool.Call) (*Commands, error) {
	s, ok := call.Background.(*Commands)
	if !ok {
		return nil, errors.New("no command goes on in the background here")
	}
	return s, nil
}

func decode[A any](raw json.RawMessage) (args A, err error) {
	if err = strictjson.Decode(raw, &args); err != nil {
		err = fmt.Errorf("arguments: %w", err)
	}
	return args, err
}

type stopArgs struct {
	ID string `json:"id"`
}

var stopSchema = json.RawMessage(`{"type":"object","properties":{
"id":{"type":"string","description":"The id that the call gave which has started the command: cmd_1."}
},"required":["id"],"additionalProperties":false}`)

// stopOne stops a command.
func (s *Commands) stopOne(ctx context.Context, a stopArgs) (tool.Result, error) {
	c, err := s.get(a.ID)
	if err != nil {
		return tool.Result{}, err
	}
	c.stop(toolcatalog.ShellStop, true)
	select {
	case <-c.done:
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	}
	return c.show(c.from())
}
