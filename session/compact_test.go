package session_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

// walker is a model that makes a call in each step, up to a number of them, and counts
// tokens if it counts. It notes the requests of its session.
type walker struct {
	steps  int
	counts bool
	refuse int // tokens beyond which a request is refused; 0 means none
	mute   bool
	asked  []*model.Request
	helped []string
}

func (*walker) Name() string { return "test/walker" }

func (w *walker) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if req.System == "summarise" {
			w.helped = append(w.helped, req.Messages[0].Text)
			if w.mute {
				yield(nil, &model.Error{Model: "test/walker", Kind: model.ErrUnavailable, Message: "away"})
				return
			}
			parts(model.TextDelta{Text: fmt.Sprintf("SUMMARY %d", len(w.helped))}, model.Usage{InputTokens: 7, OutputTokens: 3}, model.Stop{Reason: model.StopEnd})(nil, req, yield)
			return
		}
		copied := *req
		copied.Messages = slices.Clone(req.Messages)
		size := sizeOf(req)
		if w.refuse > 0 && size > w.refuse {
			yield(nil, &model.Error{Model: "test/walker", Kind: model.ErrInvalid, Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size, w.refuse)})
			return
		}
		w.asked = append(w.asked, &copied)
		var usage model.Usage
		if w.counts {
			usage = model.Usage{InputTokens: int64(size), OutputTokens: 20}
		}
		if n := len(w.asked); n <= w.steps && !req.NoToolCalls {
			parts(call(fmt.Sprintf("call-%d", n), "look", fmt.Sprint("step ", n)), usage, model.Stop{Reason: model.StopToolCalls})(nil, req, yield)
			return
		}
		parts(model.TextDelta{Text: "the end"}, usage, model.Stop{Reason: model.StopEnd})(nil, req, yield)
	}
}

func sizeOf(req *model.Request) (n int) {
	for _, m := range req.Messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.Arguments)
		}
		for _, r := range m.ToolResults {
			n += len(r.Text)
		}
	}
	return (n + len(req.System)) / 4
}

// look is a tool whose results are so long.
func look(length int) *fakeTool {
	return &fakeTool{"look", func(_ context.Context, c *tool.Call) (tool.Result, error) {
		return tool.Result{Text: string(c.Args) + strings.Repeat("x", length)}, nil
	}}
}

const window = 4000 // tokens

// TestCompaction: a session of 200 steps in a small context window ends well. The system
// prompt, the task and the last steps stay; the log keeps all, and says what the model
// is sent.
func TestCompaction(t *testing.T) {
	for _, tt := range []struct {
		name string
		walker
		length int
	}{
		{"tokens counted", walker{steps: 200, counts: true}, 900},
		{"tokens not counted", walker{steps: 200}, 900},
		{"one result that is too long", walker{steps: 20, counts: true, refuse: window}, 14_000},
		{"window unknown to the worker", walker{steps: 40, counts: true, refuse: window / 2}, 900},
		{"no summary", walker{steps: 30, counts: true, mute: true}, 900},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &tt.walker
			e := newEnv(t, w, func(o *session.Options) { o.Window = func(string) int64 { return window } })
			e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow))
			s := e.open(session.Spec{System: "be good", MaxSteps: 1000, Tools: []tool.Tool{look(tt.length)}, Compaction: &session.Helper{System: "summarise"}})
			out := s.Prompt(t.Context(), "the task")
			e.end(s, out)
			state, err := e.Store().Index.State(t.Context(), s.Path())
			if err != nil {
				t.Fatal(err)
			}
			if out.Status != record.Completed || out.Text != "the end" {
				t.Fatalf("outcome %+v", out)
			}
			if len(w.helped) < 2 {
				t.Fatalf("compacted %d times", len(w.helped))
			}
			for i, req := range w.asked {
				if size := sizeOf(req); size > window || req.System != "be good" || req.Messages[0].Text != "the task" || len(req.Tools) != 1 {
					t.Fatalf("request %d of %d tokens: %.300v", i, size, req)
				}
				last := req.Messages[len(req.Messages)-1]
				if want := fmt.Sprintf(`{"v":"step %d"}`, i); i > 0 && (len(last.ToolResults) != 1 || !strings.HasPrefix(last.ToolResults[0].Text, want)) {
					t.Fatalf("request %d ends with %.300v, want the result of %s", i, last, want)
				}
			}
			final := w.asked[len(w.asked)-1].Messages
			if !tt.mute && !strings.HasSuffix(final[1].Text, fmt.Sprintf("SUMMARY %d", len(w.helped))) || tt.mute && !strings.Contains(final[1].Text, "- look {") {
				t.Errorf("the summary: %s", final[1].Text)
			}
			// The one before is part of what was summarised.
			if !tt.mute && !strings.Contains(w.helped[1], "SUMMARY 1") || !strings.Contains(w.helped[1], "the task") {
				t.Errorf("it was made of %.500s", w.helped[1])
			}
			if want := 2 + 2*w.steps; len(state.Messages) != want {
				t.Errorf("the log has %d messages, want %d", len(state.Messages), want)
			}
			if got := plain(state.Sent); len(got) != len(final)+1 {
				t.Errorf("by the log %d messages are sent, want %d and the answer", len(got), len(final))
			} else if tt.length < 1000 && fmt.Sprint(got[:len(final)]) != fmt.Sprint(final) {
				t.Errorf("by the log the model is sent\n%.2000v\nand it was\n%.2000v", got, final)
			}
			calls := w.steps + 1 + len(w.helped)
			if tt.mute { // what has failed is no step
				calls = w.steps + 1
			}
			resumed, err := e.Store().Transcripts.Conversation(t.Context(), s.ID())
			if err != nil || fmt.Sprint(plain(resumed)) != fmt.Sprint(plain(state.Sent)) {
				t.Errorf("who resumes it goes on from %.500v, %v", plain(resumed), err)
			}
			if r := s.Record(); r.Steps != calls || r.Steps != state.Record.Steps || r.Usage != state.Record.Usage {
				t.Errorf("record %+v, by the log %+v; want %d steps", r, state.Record, calls)
			}
			compacted := 0
			for _, ev := range e.events(s) {
				if c, ok := ev.(event.ContextCompacted); ok {
					if compacted++; c.Summary == "" {
						t.Error("a context_compacted without a summary")
					}
				}
			}
			if compacted != len(w.helped) {
				t.Errorf("%d context_compacted, want %d", compacted, len(w.helped))
			}
		})
	}
}

func plain(messages []*log.Message) (out []model.Message) {
	for _, m := range messages {
		out = append(out, m.Message)
	}
	return out
}

// TestNoCompaction: without a known window, or without an agent that summarises, a
// conversation is sent unchanged.
func TestNoCompaction(t *testing.T) {
	for name, tt := range map[string]struct {
		window func(string) int64
		helper *session.Helper
	}{
		"no window": {func(string) int64 { return 0 }, &session.Helper{System: "summarise"}},
		"no helper": {func(string) int64 { return window }, nil},
		"neither":   {},
	} {
		t.Run(name, func(t *testing.T) {
			w := &walker{steps: 40, counts: true}
			e := newEnv(t, w, func(o *session.Options) { o.Window = tt.window })
			e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow))
			s := e.open(session.Spec{System: "be good", MaxSteps: 100, Tools: []tool.Tool{look(900)}, Compaction: tt.helper})
			out := s.Prompt(t.Context(), "the task")
			e.end(s, out)
			if out.Status != record.Completed || len(w.helped) > 0 || len(w.asked[40].Messages) != 81 {
				t.Errorf("outcome %+v, summarised %d times, %d messages", out, len(w.helped), len(w.asked[40].Messages))
			}
		})
	}
}

// TestTitle: a session is entitled by a helper with a model of its own, also while it
// works, and its log has the title.
func TestTitle(t *testing.T) {
	w := &walker{steps: 3, counts: true}
	e := newEnv(t, w, nil)
	e.static.rules = permission.MustRuleset(rule("*", "*", permission.Allow))
	s := e.open(session.Spec{System: "be good", Description: "first words", Tools: []tool.Tool{look(9)}})
	if err := s.Entitle(t.Context(), &session.Helper{System: "summarise"}, "the task"); err != nil || s.Record().Description != "first words" {
		t.Errorf("without a model: %v, %q", err, s.Record().Description)
	}
	if err := s.Entitle(t.Context(), &session.Helper{System: "summarise", Model: "small"}, "the task"); err != nil {
		t.Error(err)
	}
	out := s.Prompt(t.Context(), "the task")
	e.end(s, out)
	state, err := e.Store().Index.State(t.Context(), s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Record(); r.Description != "SUMMARY 1" || state.Record.Description != r.Description || state.Record.Usage != r.Usage || state.Record.Steps != r.Steps {
		t.Errorf("record %+v, by the log %+v", r, state.Record)
	}
}
