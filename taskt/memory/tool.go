package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Tool returns the tool by which an agent appends to the memory. The rules about
// remember hold for it, with that word as the value.
func (m *Memory) Tool() tool.Tool { return remember{m} }

type remember struct{ memory *Memory }

type rememberArgs struct {
	Text string `json:"text"`
}

// Spec implements [tool.Tool].
func (remember) Spec() tool.Spec {
	return tool.Spec{
		Name: toolcatalog.Remember,
		Description: "Appends one entry to the memory of this workspace, which you and other agents read in later sessions. " +
			"For what is true beyond this task and takes long to find out: how something is built or tested here, a decision and its reason, a wish of the user. " +
			"Nothing secret, and nothing that the files say plainly.",
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"text":{"type":"string","minLength":1,"maxLength":%d,`+
			`"description":"one sentence that stands by itself; it becomes one line"}},"required":["text"],"additionalProperties":false}`, MaxEntry)),
		Notes:        true,
		TellsChanges: true, // it changes no file of the workspace
	}
}

func read(args json.RawMessage) (in rememberArgs, err error) {
	if err = strictjson.Decode(args, &in); err == nil {
		err = check(in.Text)
	}
	return in, err
}

// Values implements [tool.Tool].
func (remember) Values(args json.RawMessage) ([]permission.Value, error) {
	_, err := read(args)
	return []permission.Value{{Tool: toolcatalog.Remember, Text: toolcatalog.Remember}}, err
}

// Describe implements [tool.Tool].
func (remember) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("keep a text in the memory of this workspace, which later sessions read", call.Args)
}

// Run implements [tool.Tool].
func (r remember) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	in, err := read(call.Args)
	if err == nil {
		err = r.memory.Append(in.Text, time.Now())
	}
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: "Remembered."}, nil
}
