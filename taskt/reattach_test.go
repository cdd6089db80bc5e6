package taskt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

// TestTakeoverCalls: a session whose process was killed while calls of it waited for
// subagents goes on as if nothing had happened, also where that process had itself taken
// it over.
func TestTakeoverCalls(t *testing.T) {
	stored, boot := recordTree(t)
	deep := pathOf(t, stored, 4)
	middle := deep[2].SessionID
	let := make(chan struct{})
	close(let)
	tree := treeSetup(let, let, make(chan struct{}, len(stored)))
	begun := find(t, stored, deep[3].SessionID, "message")
	bus := openBus(t, t.TempDir())
	for name, n := range map[string]int{
		"some calls of a message are stored":  1 + slices.IndexFunc(stored, func(m *nats.Msg) bool { return bytes.Contains(m.Data, []byte(`"toolCallId":"middle"`)) }),
		"none of its subagents is":            find(t, stored, middle, "opened") - 1,
		"one of them has not begun":           find(t, stored, middle, "opened"),
		"they have begun":                     begun,
		"one has ended, and its call has not": find(t, stored, middle, event.SessionEnd{}.Type()),
	} {
		t.Run(name, func(t *testing.T) {
			killAt(t, bus, stored[:n], boot)
			if tree.checkOver(t, bus) == 0 {
				t.Error("no session was taken over")
			}
		})
	}
	t.Run("three processes take over at once", func(t *testing.T) {
		all := tree
		killAt(t, bus, stored[:begun], boot)
		if all.rivals = 2; all.checkOver(t, bus) == 0 {
			t.Error("no session was taken over")
		}
	})
	fresh := openBus(t, t.TempDir())
	killAt(t, fresh, stored[:begun], boot)
	e, _ := tree.over(t, fresh)
	again := content(t, fresh)
	step := len(again) / 3
	if os.Getenv("SOAK") != "" {
		step = 1
	}
	tree.limits.Takeovers = 2
	for n := begun + 1; n <= len(again); n += step {
		t.Run(fmt.Sprint("again ", n), func(t *testing.T) {
			killAt(t, bus, again[:n], boot, e.root.Record().BootID)
			tree.checkOver(t, bus)
		})
	}
}

// TestTakeoverFailedCall: a call whose subagent can't be claimed returns the error form with
// the text so far, and its caller continues.
func TestTakeoverFailedCall(t *testing.T) {
	m := func(results *string) modelFunc {
		return func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
			switch text, n := prompt(req); {
			case text == "go" && n == 0:
				for _, child := range []string{"changes", "says"} {
					yield(model.ToolCall{ID: child, Name: "task", Arguments: `{"description":"d","prompt":"` + child + `","agentType":"explore"}`})
				}
				yield(model.Stop{Reason: model.StopToolCalls})
			case text == "go":
				*results = spoken(req.Messages[2:])
				return answer("done")(ctx, req, yield)
			case text == "changes" && n == 0:
				_ = yield(model.TextDelta{Text: "I change it"}) && yield(model.ToolCall{ID: "c", Name: "change", Arguments: `{"v":"x"}`}) && yield(model.Stop{Reason: model.StopToolCalls})
			default:
				return answer("seen "+text)(ctx, req, yield)
			}
			return nil
		}
	}
	var before, results string
	s := setup{model: m(&before), limits: taskt.Limits{Depth: 2}, tools: []tool.Tool{waiting{"change", false}}, files: map[string]string{
		"worker.md": "---\ndescription: Works.\npermission:\n  \"*\": allow\n---\n", "explore.md": "---\ndescription: Explores.\npermission:\n  \"*\": allow\n---\n",
	}}
	dir := t.TempDir()
	lead := s.cut(t, dir, "go", `"toolName":"change"`)
	s.model = m(&results)
	e, _ := s.over(t, openBus(t, dir))
	if r := recordOf(t, e, lead); r.Status != record.Completed || r.Takeovers != 1 || r.Steps != 2 {
		t.Errorf("it is %s after %d steps and %d takeovers: %s", r.Status, r.Steps, r.Takeovers, r.Error)
	}
	for _, text := range []string{`<task_error agent="explore">`, "it is not known whether its call of change was made", "The text so far:\nI change it", "seen says"} {
		if strings.Count(results, text) != 1 {
			t.Errorf("%q is not there once in\n%s", text, results)
		}
	}
}

// pathOf returns the first path of so many sessions.
func pathOf(t *testing.T, stored []*nats.Msg, sessions int) event.Path {
	t.Helper()
	for _, m := range stored {
		var opened struct{ Path event.Path }
		if kind, data := bustest.Stored(m); kind == "opened" && json.Unmarshal(data, &opened) == nil && len(opened.Path) == sessions {
			return opened.Path
		}
	}
	t.Fatalf("there is no path of %d sessions", sessions)
	return nil
}

// answered is what the log of a session says of a call.
type answered struct {
	ends  int    // outcomes
	text  string // of the last one
	begun int    // sessions that it has made, and that had begun
}

// checkCalls checks the calls of agents' sessions, claimed or not. Each has one outcome, which
// tells the end of the session that it waited for. There is one such session that had begun.
func checkCalls(t *testing.T, bus *eventbus.Bus, sessions *store.Store, records []*record.Record) {
	t.Helper()
	calls := make(map[string]map[string]*answered)
	for _, r := range records {
		calls[r.ID] = callsIn(t, bus, r)
	}
	for _, r := range records {
		state, err := sessions.Index.State(t.Context(), r.Path)
		if err != nil {
			t.Fatal(err)
		}
		made := calls[r.ParentID][state.CallID]
		if made == nil || !state.Prompted {
			continue
		}
		if made.begun++; r.Background || r.Depth < 2 {
			continue
		}
		want := "<task_error"
		if r.Status == record.Completed {
			if want, err = sessions.Transcripts.LastAnswer(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if made.ends > 0 && !strings.Contains(made.text, want) {
			t.Errorf("%s is %s, and the call that has waited for it was told\n%s", r.ID, r.Status, made.text)
		}
	}
	for _, r := range records {
		for id, call := range calls[r.ID] {
			if call.ends > 1 || call.begun > 1 || r.Agent != "" && r.Status == record.Completed && call.ends != 1 {
				t.Errorf("%s %s (%s): the call %s has %d outcomes and %d sessions", r.ID, r.Agent, r.Status, id, call.ends, call.begun)
			}
		}
	}
}

// callsIn returns the calls in the log of a session, by their ids. Of one that was made again
// under the same id, since its message had lost other calls, the last counts.
func callsIn(t *testing.T, bus *eventbus.Bus, r *record.Record) map[string]*answered {
	t.Helper()
	calls := make(map[string]*answered)
	for e, err := range bus.Log(t.Context(), r.Path) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case event.ToolCallStart{}.Type():
			var ev event.ToolCallStart
			if err := json.Unmarshal(e.Data, &ev); err != nil {
				t.Fatal(err)
			}
			calls[ev.ToolCallID] = new(answered)
		case event.ToolCallEnd{}.Type():
			var ev event.ToolCallEnd
			if err := json.Unmarshal(e.Data, &ev); err != nil {
				t.Fatal(err)
			}
			call := calls[ev.ToolCallID]
			call.ends++
			call.text = ev.Result
		}
	}
	return calls
}
