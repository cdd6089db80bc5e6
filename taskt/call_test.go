package taskt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

func TestTask(t *testing.T) {
	var system string
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		system = req.System
		return answer("found it\n")(ctx, req, yield)
	})
	e := newEnv(t, m, taskt.Limits{}, map[string]string{
		"reviewer.md": "---\ndescription: Reviews.\nmaxSteps: 3\n---\nBe strict.\n",
	})
	res := e.Call(t.Context(), e.root, taskt.Input{Description: "a look", Prompt: "look", AgentType: "reviewer"})
	if res.Err != nil || res.Status != record.Completed || res.XML() != "<task_result agent=\"reviewer\">\nfound it\n</task_result>" {
		t.Errorf("result %+v\n%s", res, res.XML())
	}
	if !strings.Contains(system, "\n\nBe strict.\n\nEnvironment: workspace ") || !strings.Contains(system, `You are the agent "reviewer". You have been given a task.`) {
		t.Errorf("system prompt:\n%s", system)
	}
	r := res.Record
	if r.ParentID != e.root.ID() || r.ParentMessageID == "" || r.Agent != "reviewer" || r.Description != "a look" || r.Depth != 1 || res.SessionID != r.ID {
		t.Errorf("record %+v", r)
	}
	// All of the child's events stand before the tool result on the root's stream.
	// The end of the root waits until its own events are stored as well.
	if err := e.root.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, d := range e.stream(t, e.root.Path()) {
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, ev.Type())
	}
	last := slices.Index(order, "tool_call_end")
	if last < 0 {
		t.Fatalf("no tool_call_end: %v", order)
	}
	for i, typ := range order {
		if typ == "subagent_event" && i > last {
			t.Errorf("event %d of the child comes after the tool result: %v", i, order)
		}
	}
}

// TestParallelStreams: with many children at once, each child's own stream and
// its part of the root's are the same, event by event, and whole.
func TestParallelStreams(t *testing.T) {
	m := modelFunc(func(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
		text, _ := prompt(req)
		var deltas int
		if _, err := fmt.Sscan(text, &deltas); err != nil {
			return err
		}
		for i := range deltas {
			if !yield(model.TextDelta{Text: fmt.Sprint(i, " ")}) {
				return nil
			}
		}
		yield(model.Stop{Reason: model.StopEnd})
		return nil
	})
	e := newEnv(t, m, taskt.Limits{Running: 50, PerParent: 50}, nil)
	rapid.Check(t, func(rt *rapid.T) {
		root, err := e.OpenCaller(t.Context(), "property", record.Owner)
		if err != nil {
			rt.Fatal(err)
		}
		lengths := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 20).Draw(rt, "deltas")
		results := make([]*taskt.Result, len(lengths))
		var calls sync.WaitGroup
		for i, n := range lengths {
			calls.Go(func() {
				results[i] = e.Call(t.Context(), root, taskt.Input{Prompt: fmt.Sprint(n), AgentType: "explore"})
			})
		}
		calls.Wait()
		inRoot := make(map[string][]string)
		for _, d := range e.stream(t, root.Path()) {
			ev, err := event.Decode(d.Raw)
			if err != nil {
				rt.Fatal(err)
			}
			if env, ok := ev.(event.SubagentEvent); ok {
				inRoot[env.SessionID] = append(inRoot[env.SessionID], string(env.Event))
			}
		}
		for i, res := range results {
			if res.Err != nil {
				rt.Fatal(res.Err)
			}
			var own []string
			said := ""
			for _, d := range e.stream(t, res.Record.Path) {
				own = append(own, string(d.Raw))
				if ev, err := event.Decode(d.Raw); err != nil {
					rt.Fatal(err)
				} else if piece, ok := ev.(event.ContentDelta); ok {
					said += piece.Delta // of several deltas, if the store was busy
				}
			}
			deltas := len(strings.Fields(said))
			if !slices.Equal(own, inRoot[res.SessionID]) {
				rt.Fatalf("child %d: its stream\n%s\nin the root's\n%s", i, strings.Join(own, "\n"), strings.Join(inRoot[res.SessionID], "\n"))
			}
			if deltas != lengths[i] || !strings.Contains(own[len(own)-1], "session_end") {
				rt.Fatalf("child %d: %d of %d deltas, the last event is %s", i, deltas, lengths[i], own[len(own)-1])
			}
		}
	})
}
