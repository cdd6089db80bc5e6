package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// prompt is how soon a call has to end when its context has.
const prompt = 5 * time.Second

// Suite holds a model to the rules of package model. newModel returns the model under
// test. It must give the answers of script, and must not repeat a call. An adapter gets
// the base URL of a [Server], which also finds connections that stay open.
func Suite(t *testing.T, newModel func(t *testing.T, script replaymodel.Script) model.Model) {
	for _, test := range answers {
		t.Run("answers/"+test.name, func(t *testing.T) {
			m := newModel(t, replaymodel.Script{test.turn})
			got, err := Collect(m.Stream(t.Context(), Ask("hello")))
			if err != nil {
				t.Fatalf("turn %+v: got the error %v, want none", test.turn, err)
			}
			var kept string
			for _, block := range got.blocks {
				kept += block.Text
			}
			if got.blocks = nil; kept != got.Reasoning {
				t.Errorf("turn %+v: got the reasoning %q to keep, want the %q that was shown", test.turn, kept, got.Reasoning)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("turn %+v:\ngot  %+v\nwant %+v", test.turn, got, test.want)
			}
		})
	}
	for _, test := range failures {
		t.Run("failures/"+test.name, func(t *testing.T) {
			m := newModel(t, replaymodel.Script{test.turn})
			got, err := Collect(m.Stream(t.Context(), Ask("hello")))
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("turn %+v: got %+v and the error %v, want a *model.Error", test.turn, got, err)
			}
			if e.Model != m.Name() || e.Kind != test.kind || e.Status != test.status || e.Message == "" || strings.Contains(e.Message, "\n") {
				t.Errorf("turn %+v: got the error %#v, want model %s, kind %s, status %d and one line of message",
					test.turn, e, m.Name(), test.kind, test.status)
			}
			if want := test.turn.Text.String(); got.Text != want {
				t.Errorf("turn %+v: got the text %q before the error, want %q", test.turn, got.Text, want)
			}
		})
	}
	t.Run("conversation", func(t *testing.T) { testConversation(t, newModel) })
	t.Run("never ranged over", func(t *testing.T) {
		m := newModel(t, replaymodel.Script{{Hang: true}})
		_ = m.Stream(t.Context(), Ask("hello")) // the server's end finds a request
	})
	t.Run("leaving the loop", func(t *testing.T) {
		m := newModel(t, replaymodel.Script{{Text: replaymodel.Chunks{"one", "two"}, Hang: true}})
		for part, err := range m.Stream(t.Context(), Ask("hello")) {
			if text, ok := part.(model.TextDelta); err != nil || !ok || !strings.HasPrefix(text.Text, "one") {
				t.Fatalf("got %v, %v first, want the text one", part, err)
			}
			break
		}
	})
	t.Run("cancelled before", func(t *testing.T) {
		m := newModel(t, replaymodel.Script{{Text: replaymodel.Chunks{"hello"}}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := Collect(m.Stream(ctx, Ask("hello")))
		if !errors.Is(err, context.Canceled) || got.Stop != "" {
			t.Errorf("got %+v, %v, want context.Canceled", got, err)
		}
	})
	t.Run("cancelled while it hangs", func(t *testing.T) {
		testCancel(t, newModel, replaymodel.Turn{Text: replaymodel.Chunks{"so"}, Hang: true})
	})
	t.Run("deadline while nothing comes", func(t *testing.T) { testDeadline(t, newModel) })
	t.Run("twice", func(t *testing.T) { testTwice(t, newModel) })
	t.Run("side by side", func(t *testing.T) { testConcurrent(t, newModel) })
}

// answers are complete answers.
var answers = []struct {
	name string
	turn replaymodel.Turn
	want Answer
}{
	{"text", replaymodel.Turn{
		Text:  replaymodel.Chunks{"Hel", "lo, ", "wörld 🎉"},
		Usage: &model.Usage{InputTokens: 100, OutputTokens: 7, CacheReadTokens: 60},
	}, Answer{
		Text: "Hello, wörld 🎉", Stop: model.StopEnd,
		Usage: model.Usage{InputTokens: 100, OutputTokens: 7, CacheReadTokens: 60},
	}},
	{"nothing", replaymodel.Turn{Usage: &model.Usage{}}, Answer{Stop: model.StopEnd}},
	{"lines", replaymodel.Turn{Text: replaymodel.Chunks{"a\r\n\nb\n", "\tdata: c\n\n"}}, Answer{
		Text: "a\r\n\nb\n\tdata: c\n\n", Stop: model.StopEnd,
	}},
	{"tool calls", replaymodel.Turn{
		Text: replaymodel.Chunks{"I look."},
		ToolCalls: []replaymodel.ToolCall{
			{ID: "call_a", Name: "read_file", Arguments: `{"path":"wörld \"x\".txt","lines":[1,2,3]}`},
			{ID: "call_b", Name: "grep", Arguments: `{"pattern":"a.*b"}`},
			{ID: "call_c", Name: "list_dir"},
		},
	}, Answer{
		Text: "I look.", Stop: model.StopToolCalls,
		ToolCalls: []model.ToolCall{
			{ID: "call_a", Name: "read_file", Arguments: `{"path":"wörld \"x\".txt","lines":[1,2,3]}`},
			{ID: "call_b", Name: "grep", Arguments: `{"pattern":"a.*b"}`},
			{ID: "call_c", Name: "list_dir", Arguments: "{}"},
		},
	}},
	{"broken arguments", replaymodel.Turn{
		ToolCalls: []replaymodel.ToolCall{{ID: "call_a", Name: "read_file", Arguments: `{"path": "go.m`}},
		Stop:      model.StopMaxTokens,
	}, Answer{
		Stop:      model.StopMaxTokens,
		ToolCalls: []model.ToolCall{{ID: "call_a", Name: "read_file", Arguments: `{"path": "go.m`}},
	}},
	{"reasoning", replaymodel.Turn{
		Reasoning: replaymodel.Chunks{"Hm", ", so."}, Signature: "c2lnbmF0dXJl", Text: replaymodel.Chunks{"Yes."},
	}, Answer{Reasoning: "Hm, so.", Text: "Yes.", Stop: model.StopEnd}},
	{"output limit", replaymodel.Turn{Text: replaymodel.Chunks{"and th"}, Stop: model.StopMaxTokens}, Answer{
		Text: "and th", Stop: model.StopMaxTokens,
	}},
	{"refusal", replaymodel.Turn{Text: replaymodel.Chunks{"I "}, Stop: model.StopRefusal}, Answer{
		Text: "I ", Stop: model.StopRefusal,
	}},
}

// failures are calls that fail.
var failures = []struct {
	name   string
	turn   replaymodel.Turn
	kind   model.ErrorKind
	status int
}{
	{"key", replaymodel.Turn{Error: &replaymodel.Failure{Kind: model.ErrAuth}}, model.ErrAuth, 401},
	{"request", replaymodel.Turn{Error: &replaymodel.Failure{Kind: model.ErrInvalid}}, model.ErrInvalid, 400},
	{"rate limit", replaymodel.Turn{Error: &replaymodel.Failure{Kind: model.ErrRateLimited}}, model.ErrRateLimited, 429},
	{"server", replaymodel.Turn{Error: &replaymodel.Failure{Status: 500}}, model.ErrUnavailable, 500},
	{"overloaded", replaymodel.Turn{Error: &replaymodel.Failure{Status: 529}}, model.ErrUnavailable, 529},
	{"in the midst", replaymodel.Turn{
		Text: replaymodel.Chunks{"so ", "far"}, Error: &replaymodel.Failure{Kind: model.ErrUnavailable, Message: "Overloaded"},
	}, model.ErrUnavailable, 0},
	{"cut", replaymodel.Turn{Text: replaymodel.Chunks{"so ", "far"}, Cut: true}, model.ErrUnavailable, 0},
	{"cut in a tool call", replaymodel.Turn{
		ToolCalls: []replaymodel.ToolCall{{Name: "grep", Arguments: `{"pattern":"x"}`}}, Cut: true,
	}, model.ErrUnavailable, 0},
	{"cut before anything", replaymodel.Turn{Cut: true}, model.ErrUnavailable, 0},
	{"not understood", replaymodel.Turn{
		Text: replaymodel.Chunks{"so "}, Error: &replaymodel.Failure{Kind: model.ErrProtocol},
	}, model.ErrProtocol, 0},
}

// testConversation plays two steps: what a model has said is handed back.
func testConversation(t *testing.T, newModel func(*testing.T, replaymodel.Script) model.Model) {
	m := newModel(t, replaymodel.Script{
		{
			Reasoning: replaymodel.Chunks{"Read it."}, Signature: "c2lnbmF0dXJl",
			ToolCalls: []replaymodel.ToolCall{{Name: "read_file", Arguments: `{"path":"go.mod"}`}, {Name: "list_dir"}},
		},
		{Text: replaymodel.Chunks{"It is a module."}},
		{Match: replaymodel.Match{NoToolCalls: true}, Text: replaymodel.Chunks{"That was all."}},
	})
	req := &model.Request{
		System:   "You are a test.",
		Messages: []model.Message{{Role: model.User, Text: "What is this?"}},
		Tools: []model.ToolSpec{
			{Name: "read_file", Description: "Reads.", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
			{Name: "list_dir", InputSchema: json.RawMessage(`{"type":"object"}`)},
		},
	}
	for i, want := range []string{"", "It is a module.", "That was all."} {
		req.NoToolCalls = i == 2
		before := fmt.Sprintf("%+v", req)
		got, err := Collect(m.Stream(t.Context(), req))
		if err != nil || got.Text != want {
			t.Fatalf("step %d: got %+v, %v, want the text %q", i, got, err, want)
		}
		if after := fmt.Sprintf("%+v", req); after != before {
			t.Errorf("step %d: the request was changed:\nto   %s\nfrom %s", i, after, before)
		}
		results := model.Message{Role: model.User, Text: "Go on."}
		for j, call := range got.ToolCalls {
			results.ToolResults = append(results.ToolResults, model.ToolResult{ToolCallID: call.ID, Text: "done", IsError: j > 0})
		}
		req.Messages = append(req.Messages, got.Message(), results)
	}
}

// testCancel ends the context of an answer after its first part.
func testCancel(t *testing.T, newModel func(*testing.T, replaymodel.Script) model.Model, turn replaymodel.Turn) {
	m := newModel(t, replaymodel.Script{turn})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var began time.Time
	var last error
	for part, err := range m.Stream(ctx, Ask("hello")) {
		last = err
		if _, ok := part.(model.TextDelta); ok {
			began = time.Now()
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v last, want context.Canceled", last)
	}
	var e *model.Error
	if errors.As(last, &e) {
		t.Errorf("got the *model.Error %v, want none: the context has ended", e)
	}
	if took := time.Since(began); took > prompt {
		t.Errorf("it ended %v after the context, want within %v", took, prompt)
	}
}

func testDeadline(t *testing.T, newModel func(*testing.T, replaymodel.Script) model.Model) {
	m := newModel(t, replaymodel.Script{{Hang: true}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got, err := Collect(m.Stream(ctx, Ask("hello")))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %+v, %v, want context.DeadlineExceeded", got, err)
	}
}

// testTwice ranges twice over one iterator: two calls.
func testTwice(t *testing.T, newModel func(*testing.T, replaymodel.Script) model.Model) {
	m := newModel(t, replaymodel.Script{{Text: replaymodel.Chunks{"same"}}})
	stream := m.Stream(t.Context(), Ask("hello"))
	for i := range 2 {
		if got, err := Collect(stream); err != nil || got.Text != "same" {
			t.Errorf("range %d: got %+v, %v, want the text %q", i, got, err, "same")
		}
	}
}

// testConcurrent has conversations that share a model get their own answers.
func testConcurrent(t *testing.T, newModel func(*testing.T, replaymodel.Script) model.Model) {
	const n = 8
	var script replaymodel.Script
	for i := range n {
		user := fmt.Sprintf("I am %d.", i)
		script = append(script, replaymodel.Turn{
			Match: replaymodel.Match{User: user}, Text: replaymodel.Chunks{"You ", "are ", user[5:]},
		})
	}
	m := newModel(t, script)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			got, err := Collect(m.Stream(t.Context(), Ask(fmt.Sprintf("I am %d.", i))))
			if want := fmt.Sprintf("You are %d.", i); err != nil || got.Text != want {
				t.Errorf("conversation %d: got %+v, %v, want the text %q", i, got, err, want)
			}
		})
	}
	running.Wait()
}
