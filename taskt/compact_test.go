package taskt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/tool"
)

const (
	walkSteps  = 200
	walkWindow = 6000 // tokens
)

// long is a tool that changes nothing and whose results have so many bytes.
type long struct {
	plain
	bytes int
}

func (l long) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	return tool.Result{Text: string(call.Args) + strings.Repeat("x", l.bytes)}, nil
}

// walker is a model that makes a call in each of walkSteps steps, and summarises on request.
type walker struct {
	until     int // the step that hangs; -1 means none
	system    string
	walked    []int             // the steps
	last      []model.Message   // what it was sent last
	first     []model.Message   // and first
	summaries int               // how many it has made
	wrong     map[string]string // what was wrong, by subject
}

func (w *walker) model() modelFunc {
	w.wrong = make(map[string]string)
	return func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if strings.HasPrefix(req.System, "You summarise") {
			w.summaries++
			return answer(fmt.Sprintf("SUMMARY %d", w.summaries))(ctx, req, yield)
		}
		step := w.look(req)
		w.walked = append(w.walked, step)
		switch step {
		case w.until:
			<-ctx.Done()
			return context.Cause(ctx)
		case walkSteps:
			return answer("the end")(ctx, req, yield)
		}
		_ = yield(model.ToolCall{ID: fmt.Sprint("call-", step), Name: "look", Arguments: stepArgs(step)}) && yield(model.Stop{Reason: model.StopToolCalls})
		return nil
	}
}

func stepArgs(step int) string { return fmt.Sprintf(`{"v":"step %d"}`, step) }

// look checks a request, and returns which step it is.
func (w *walker) look(req *model.Request) (step int) {
	bytes := len(req.System)
	calls := make(map[string]bool) // of the message before
	for i, m := range req.Messages {
		if (i > 0 && m.Role == model.Assistant || len(calls) > 0) && len(calls) != len(m.ToolResults) {
			w.wrong["calls without their results"] = spoken(req.Messages[:i+1])
		}
		for _, r := range m.ToolResults {
			if !calls[r.ToolCallID] {
				w.wrong["a result without its call"] = spoken(req.Messages[:i+1])
			}
			bytes += len(r.Text)
			var args struct{ V string }
			if json.NewDecoder(strings.NewReader(r.Text)).Decode(&args) == nil {
				_, _ = fmt.Sscanf(args.V, "step %d", &step)
			}
		}
		clear(calls)
		for _, c := range m.ToolCalls {
			calls[c.ID] = true
		}
		bytes += len(m.Text)
	}
	step++
	if len(req.Messages) == 1 {
		step = 0
	}
	if w.first == nil {
		w.first, w.system = slices.Clone(req.Messages), req.System
	}
	w.last = slices.Clone(req.Messages)
	switch last := req.Messages[len(req.Messages)-1]; {
	case req.System != w.system || !strings.Contains(req.System, "You walk step by step."):
		w.wrong["the system prompt"] = req.System
	case req.Messages[0].Text != "the task":
		w.wrong["the task"] = req.Messages[0].Text
	case bytes/4 > walkWindow:
		w.wrong["the context window"] = fmt.Sprint(bytes/4, " tokens")
	case step > 0 && len(last.ToolResults) != 1:
		w.wrong["the last step"] = spoken(req.Messages[len(req.Messages)-1:])
	case w.summaries > 0 && !strings.HasSuffix(req.Messages[1].Text, fmt.Sprint("SUMMARY ", w.summaries)):
		w.wrong["the summary"] = req.Messages[1].Text
	}
	return step
}

// TestLongChild: a child of 200 steps ends well in a context window that holds some of them,
// although its process is killed on the way and another one claims it.
func TestLongChild(t *testing.T) {
	before, after := &walker{until: 30}, &walker{until: -1}
	s := setup{
		model: before.model(), tools: []tool.Tool{long{"look", 500}},
		window: walkWindow,
		files:  map[string]string{"worker.md": "---\ndescription: Walks.\nmaxSteps: 1000\npermission: { \"*\": allow }\n---\nYou walk step by step.\n"},
	}
	dir := t.TempDir()
	child := s.cut(t, dir, "the task", `"toolCallId":"call-29","toolName":"look","result"`)
	made := before.summaries
	after.summaries = made // it goes on from the newest one
	s.model = after.model()
	e, _ := s.over(t, openBus(t, dir))

	for what, got := range before.wrong {
		t.Errorf("%s: %.2000s", what, got)
	}
	for what, got := range after.wrong {
		t.Errorf("behind the takeover, %s: %.2000s", what, got)
	}
	if made < 2 || after.summaries < made+2 {
		t.Errorf("compacted %d times before the takeover, and %d after it", made, after.summaries-made)
	}
	if !reflect.DeepEqual(after.first, before.last) {
		t.Errorf("the model that was cut off was sent\n%s\nand the next one\n%s", spoken(before.last), spoken(after.first))
	}
	for i, step := range append(before.walked, after.walked[1:]...) {
		if step != i {
			t.Fatalf("the steps are %d and %d", before.walked, after.walked)
		}
	}
	r := recordOf(t, e, child)
	if r.Status != record.Completed || r.Takeovers != 1 {
		t.Errorf("it is %s after %d takeovers: %s", r.Status, r.Takeovers, r.Error)
	}
	if text, err := e.sessions.Store().Transcripts.LastAnswer(t.Context(), r); err != nil || text != "the end" {
		t.Errorf("its answer: %q, %v", text, err)
	}
	compacted := 0
	for entry, err := range e.bus.Log(t.Context(), r.Path) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Kind == (event.ContextCompacted{}).Type() {
			compacted++
		}
	}
	if compacted != after.summaries {
		t.Errorf("%d context_compacted, want %d", compacted, after.summaries)
	}
}
