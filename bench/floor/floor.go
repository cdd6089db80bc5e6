// Package floor does the work with the least code: a loop, a goroutine for each
// call of a tool, and one bounded channel of events to the consumer. It is no
// framework. It says what the work itself costs.
package floor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/agentworker/worker/bench/scen"
)

type message struct {
	text   string
	calls  []call
	result bool // of a tool
}

type call struct{ id, name, args string }

type event struct {
	path  string // of the calls that lead to the agent
	delta string
	calls []call
}

type agent struct {
	model scen.Model
	tools map[string]func(ctx context.Context, r *run, c call) (string, error)
}

type run struct {
	out  chan<- event
	path string
}

func (r *run) emit(ctx context.Context, ev event) {
	ev.path = r.path
	select {
	case r.out <- ev:
	case <-ctx.Done():
	}
}

// Open is the [scen.Peer].
func Open(s *scen.Script) (scen.Agents, error) {
	child := &agent{model: scen.Model{Script: s}}
	child.tools = map[string]func(context.Context, *run, call) (string, error){
		scen.ToolName: func(_ context.Context, _ *run, c call) (string, error) {
			var in struct{ Text string }
			err := json.Unmarshal([]byte(c.args), &in)
			return s.Echo(in.Text), err
		},
	}
	parent := &agent{model: scen.Model{Script: s, Parent: true}}
	parent.tools = map[string]func(context.Context, *run, call) (string, error){
		scen.ChildName: func(ctx context.Context, r *run, c call) (string, error) {
			var in struct{ Request string }
			if err := json.Unmarshal([]byte(c.args), &in); err != nil {
				return "", err
			}
			return child.loop(ctx, &run{out: r.out, path: r.path + "/" + c.id}, in.Request)
		},
	}
	return scen.RunFunc(func(ctx context.Context, k *scen.Sink) (final string, err error) {
		out := make(chan event, 64)
		go func() {
			defer close(out)
			final, err = parent.loop(ctx, &run{out: out}, scen.UserText)
		}()
		for ev := range out {
			switch {
			case ev.path == "":
				k.ParentEvent()
			case ev.delta != "":
				k.Delta(ev.path, ev.delta)
			default:
				k.ChildEvent()
			}
		}
		return final, err
	}), nil
}

func (a *agent) loop(ctx context.Context, r *run, user string) (string, error) {
	messages := make([]message, 0, 8)
	messages = append(messages, message{text: scen.Instruction}, message{text: user})
	for {
		answer, err := a.ask(ctx, messages, r)
		if err != nil || len(answer.calls) == 0 {
			return answer.text, err
		}
		messages = append(messages, answer)
		r.emit(ctx, event{calls: answer.calls})
		results := make([]message, len(answer.calls))
		errs := make([]error, len(answer.calls))
		var calls sync.WaitGroup
		for i, c := range answer.calls {
			calls.Go(func() {
				text, err := a.tools[c.name](ctx, r, c)
				results[i], errs[i] = message{text: text, result: true}, err
			})
		}
		calls.Wait()
		if err := errors.Join(errs...); err != nil {
			return "", err
		}
		messages = append(messages, results...)
	}
}

func (a *agent) ask(ctx context.Context, messages []message, r *run) (message, error) {
	asked := a.model.Begin()
	for i := range messages {
		if messages[i].result {
			asked.Result(messages[i].text)
		}
	}
	step, err := asked.Answer(ctx)
	if err != nil {
		return message{}, err
	}
	if step.Tool != "" {
		calls := make([]call, len(step.IDs))
		for i, id := range step.IDs {
			calls[i] = call{id, step.Tool, step.Args}
		}
		return message{calls: calls}, nil
	}
	var text strings.Builder
	for _, d := range step.Deltas {
		r.emit(ctx, event{delta: d})
		text.WriteString(d)
	}
	return message{text: text.String()}, nil
}
