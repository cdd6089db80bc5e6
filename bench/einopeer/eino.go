// Package einopeer does the work with github.com/cloudwego/eino, in memory: a
// ChatModelAgent for the parent and one for the child, adk.NewAgentTool between
// them, and EmitInternalEvents, so that the child's events reach the consumer.
package einopeer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/agentworker/worker/bench/scen"
)

// Open is the [scen.Peer].
func Open(s *scen.Script) (scen.Agents, error) {
	ctx := context.Background()
	child, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: scen.ChildName, Description: "looks things up", Instruction: scen.Instruction,
		Model: &scripted{scen.Model{Script: s}},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{echo{s}}},
		},
	})
	if err != nil {
		return nil, err
	}
	parent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: scen.ParentName, Description: "answers", Instruction: scen.Instruction,
		Model: &scripted{scen.Model{Script: s, Parent: true}},
		ToolsConfig: adk.ToolsConfig{
			ToolsNodeConfig:    compose.ToolsNodeConfig{Tools: []tool.BaseTool{adk.NewAgentTool(ctx, child)}},
			EmitInternalEvents: true,
		},
	})
	if err != nil {
		return nil, err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: parent, EnableStreaming: true})
	return scen.RunFunc(func(ctx context.Context, k *scen.Sink) (string, error) {
		return consume(runner.Run(ctx, []adk.Message{schema.UserMessage(scen.UserText)}), k)
	}), nil
}

// consume hands all events to k, and returns the parent's last answer. An event
// may hold a stream; they are read one after the other, as eino's own loop does.
// Nothing in an event says which call a child belongs to: a child's text is one
// stream, so that its number tells the children apart.
func consume(events *adk.AsyncIterator[*adk.AgentEvent], k *scen.Sink) (string, error) {
	var final strings.Builder
	for streams := 0; ; streams++ {
		ev, ok := events.Next()
		if !ok {
			return final.String(), nil
		}
		if ev.Err != nil {
			return "", ev.Err
		}
		if ev.Output == nil || ev.Output.MessageOutput == nil {
			continue
		}
		out, ofChild := ev.Output.MessageOutput, ev.AgentName == scen.ChildName
		if !out.IsStreaming {
			if ofChild {
				k.ChildEvent()
			} else {
				k.ParentEvent()
			}
			continue
		}
		label := ""
		if k.Track {
			label = fmt.Sprint("stream ", streams)
		}
		final.Reset()
		for {
			msg, err := out.MessageStream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return "", err
			}
			switch {
			case !ofChild:
				k.ParentEvent()
				final.WriteString(msg.Content)
			case msg.Content != "" && len(msg.ToolCalls) == 0 && msg.Role != schema.Tool:
				k.Delta(label, msg.Content)
			default:
				k.ChildEvent()
			}
		}
	}
}

// scripted is the model. Its streams are arrays, which eino reads fastest.
type scripted struct{ scen.Model }

func (m *scripted) answer(ctx context.Context, in []*schema.Message) ([]*schema.Message, error) {
	asked := m.Begin()
	for _, msg := range in {
		if msg.Role == schema.Tool {
			asked.Result(msg.Content)
		}
	}
	step, err := asked.Answer(ctx)
	if err != nil {
		return nil, err
	}
	if step.Tool != "" {
		calls := make([]schema.ToolCall, len(step.IDs))
		for i, id := range step.IDs {
			calls[i] = schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: step.Tool, Arguments: step.Args}}
		}
		return []*schema.Message{schema.AssistantMessage("", calls)}, nil
	}
	out := make([]*schema.Message, len(step.Deltas))
	for i, d := range step.Deltas {
		out[i] = schema.AssistantMessage(d, nil)
	}
	return out, nil
}

func (m *scripted) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	out, err := m.answer(ctx, in)
	if err != nil {
		return nil, err
	}
	return schema.ConcatMessages(out)
}

func (m *scripted) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.answer(ctx, in)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(out), nil
}

func (m *scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

type echo struct{ script *scen.Script }

func (echo) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: scen.ToolName, Desc: "gives the text back",
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"text": {Type: schema.String, Required: true},
		})}, nil
}

func (e echo) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	var in struct{ Text string }
	err := json.Unmarshal([]byte(args), &in)
	return e.script.Echo(in.Text), err
}
