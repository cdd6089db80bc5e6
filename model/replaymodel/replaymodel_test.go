package replaymodel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := replaymodel.New("replay/delay", replaymodel.Script{{Text: replaymodel.Chunks{"a", "b", "c"}, DelayMs: 1000}})
		start := time.Now()
		got, err := modeltest.Collect(m.Stream(t.Context(), &model.Request{}))
		if took := time.Since(start); err != nil || got.Text != "abc" || took != 3*time.Second {
			t.Errorf("got %+v, %v after %v, want abc after 3s", got, err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		start = time.Now()
		got, err = modeltest.Collect(m.Stream(ctx, &model.Request{}))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || got.Text != "a" || took != 1500*time.Millisecond {
			t.Errorf("got %+v, %v after %v, want a and the deadline after 1.5s", got, err, took)
		}
	})
}

// TestTimes: an error that an adapter would have got over does not show.
func TestTimes(t *testing.T) {
	m := replaymodel.New("replay/times", replaymodel.Script{{
		Text: replaymodel.Chunks{"at last"}, Error: &replaymodel.Failure{Status: 429, Times: 2},
	}})
	if got, err := modeltest.Collect(m.Stream(t.Context(), &model.Request{})); err != nil || got.Text != "at last" {
		t.Errorf("got %+v, %v, want the text %q", got, err, "at last")
	}
}

func TestFailure(t *testing.T) {
	m := replaymodel.New("replay/failure", replaymodel.Script{{
		Error: &replaymodel.Failure{Kind: model.ErrRateLimited, Message: "slow down", RetryAfterMs: 1500},
	}})
	_, err := modeltest.Collect(m.Stream(t.Context(), &model.Request{}))
	var e *model.Error
	want := model.Error{
		Model: "replay/failure", Kind: model.ErrRateLimited, Status: 429, RetryAfter: 1500 * time.Millisecond, Message: "slow down",
	}
	if !errors.As(err, &e) || *e != want {
		t.Errorf("got %#v, want %#v", err, want)
	}
}

func Example() {
	script, err := replaymodel.Parse([]byte(`
		{"text": "I will look.", "toolCalls": [{"name": "read_file", "arguments": {"path": "go.mod"}}]}
		{"text": ["It is ", "a module."], "usage": {"inputTokens": 40, "outputTokens": 5}}
		{"match": {"user": "thank"}, "text": "You are welcome."}
	`))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := replaymodel.New("replay/example", script)
	conversation := []model.Message{
		{Role: model.User, Text: "What is this?"},
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "call_1_1", Name: "read_file"}}},
		{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "call_1_1", Text: "module example"}}},
		{Role: model.Assistant, Text: "It is a module."},
		{Role: model.User, Text: "I thank you."},
	}
	for _, n := range []int{1, 3, 5} {
		for part, err := range m.Stream(context.Background(), &model.Request{Messages: conversation[:n]}) {
			fmt.Printf("%T %+v %v\n", part, part, err)
		}
	}
	// Output:
	// model.TextDelta {Text:I will look.} <nil>
	// model.ToolCall {ID:call_1_1 Name:read_file Arguments:{"path":"go.mod"}} <nil>
	// model.Stop {Reason:tool_calls} <nil>
	// model.TextDelta {Text:It is } <nil>
	// model.TextDelta {Text:a module.} <nil>
	// model.Usage {InputTokens:40 OutputTokens:5 CacheReadTokens:0 CacheWriteTokens:0 Cost:} <nil>
	// model.Stop {Reason:end} <nil>
	// model.TextDelta {Text:You are welcome.} <nil>
	// model.Stop {Reason:end} <nil>
}
