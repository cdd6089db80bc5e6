package workerpeer

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// scripted is the model of the parent or of the children.
type scripted struct {
	script *scen.Script
	parent bool
}

func (m scripted) Name() string {
	if m.parent {
		return scen.ParentName
	}
	return scen.ChildName
}

func (m scripted) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		step, err := m.answer(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, id := range step.IDs {
			if !yield(model.ToolCall{ID: id, Name: step.Tool, Arguments: step.Args}, nil) {
				return
			}
		}
		for _, d := range step.Deltas {
			if !yield(model.TextDelta{Text: d}, nil) {
				return
			}
		}
		stop := model.Stop{Reason: model.StopEnd}
		if step.Tool != "" {
			stop.Reason = model.StopToolCalls
		}
		yield(stop, nil)
	}
}

func (m scripted) answer(ctx context.Context, req *model.Request) (scen.Step, error) {
	asked := scen.Model{Script: m.script, Parent: m.parent}.Begin()
	for i := range req.Messages {
		for _, r := range req.Messages[i].ToolResults {
			asked.Result(r.Text)
		}
	}
	step, err := asked.Answer(ctx)
	if step.Tool == scen.ChildName {
		step.Tool, step.Args = "task", `{"description":"look","prompt":"look it up","agentType":"`+scen.ChildName+`"}`
	}
	return step, err
}

// echo is the tool.
type echo struct{ script *scen.Script }

func (echo) Spec() tool.Spec {
	return tool.Spec{Name: scen.ToolName, Description: "gives the text back", InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}
}

func (echo) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("call it", call.Args)
}

func (echo) Values(json.RawMessage) ([]permission.Value, error) {
	return []permission.Value{{Tool: scen.ToolName, Text: "hello"}}, nil
}

func (e echo) Run(_ context.Context, c *tool.Call) (tool.Result, error) {
	var in struct{ Text string }
	err := json.Unmarshal(c.Args, &in)
	return tool.Result{Text: e.script.Echo(in.Text)}, err
}

// allowAll are the workspace's rules. Like those of a file they are read once.
type allowAll struct{}

func (allowAll) Rules() (*permission.Ruleset, error) { return allRules() }

var allRules = sync.OnceValues(func() (*permission.Ruleset, error) {
	return permission.NewRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})
})

func (allowAll) Allow(string, []string) error { return nil }
