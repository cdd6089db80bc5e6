package taskt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// recordTree runs a caller with subagents in its background, of which one has such subagents of
// its own. That one waits for one of them, and ends before a detached one. It has one moved to
// the background, and waits for two more, of which one waits for another. One is resumed.
// recordTree returns all that was appended, in order, and the process.
func recordTree(t *testing.T) (stored []*nats.Msg, boot string) {
	let, moved := make(chan struct{}), make(chan struct{})
	blocking := make(chan struct{}, 1)
	e := treeSetup(let, moved, blocking).open(t)
	boot = e.root.Record().BootID
	other := e.Start(t.Context(), e.root, background("other"))
	lead := e.Start(t.Context(), e.root, taskt.Input{Prompt: "lead", AgentType: "lead", Background: new(true)})
	<-other.Done()
	<-blocking
	e.move(t, e.child(t, "blocking"))
	close(moved)
	again := e.Resume(t.Context(), e.root, control.Resumption{Record: recordOf(t, e, other.SessionID()), Prompt: "again"})
	for _, run := range []*taskt.Run{lead, again} {
		<-run.Done()
		if run.Result().Err != nil {
			t.Fatal(run.Result().Err)
		}
	}
	close(let)
	if _, err := e.do(t, scopeOf(e.root.ID()), "task_wait", `{}`); err != nil {
		t.Fatal(err)
	}
	if err := e.root.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	return content(t, e.bus), boot
}

// content returns the messages of the event stream.
func content(t *testing.T, bus *eventbus.Bus) (stored []*nats.Msg) {
	t.Helper()
	stream, err := bus.JetStream().Stream(t.Context(), eventbus.Stream)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, &nats.Msg{Subject: m.Subject, Data: m.Data})
	}
	return stored
}

// treeSetup is the setup of [recordTree]. The agent "late" waits for let. The one for which a
// call waits sends on blocking, and waits for moved.
func treeSetup(let, moved <-chan struct{}, blocking chan<- struct{}) setup {
	m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		text, n := prompt(req)
		text, _, _ = strings.Cut(text, "\n") // the rest of the budget follows
		switch {
		case text == "skip":
			return answer("ANNOUNCE_SKIP: nothing")(ctx, req, yield)
		case text == "late":
			<-let
			return answer("late")(ctx, req, yield)
		case text == "blocking":
			blocking <- struct{}{}
			<-moved
			return answer("went on")(ctx, req, yield)
		case text == "middle" && n == 0:
			_ = yield(model.ToolCall{ID: "deep", Name: "task", Arguments: `{"description":"d","prompt":"deep","agentType":"explore"}`}) && yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		case text != "lead":
			return answer("seen "+text)(ctx, req, yield)
		case n == 0:
			yield(model.ToolCall{ID: "late", Name: "task", Arguments: `{"description":"d","prompt":"late","agentType":"free"}`})
			callsOf(yield, "one", "skip", "two")
		case n == 1:
			_, rest, _ := strings.Cut(req.Messages[2].ToolResults[1].Text, `"sessionId": "`)
			id, _, _ := strings.Cut(rest, `"`)
			_ = yield(model.ToolCall{ID: "w", Name: "task_wait", Arguments: `{"sessionId": "` + id + `"}`}) &&
				yield(model.ToolCall{ID: "b", Name: "task", Arguments: `{"description":"blocking","prompt":"blocking","agentType":"explore"}`}) &&
				yield(model.Stop{Reason: model.StopToolCalls})
		case n == 2:
			for _, child := range []string{"middle", "beside"} {
				yield(model.ToolCall{ID: child, Name: "task", Arguments: `{"description":"d","prompt":"` + child + `","agentType":"lead"}`})
			}
			yield(model.Stop{Reason: model.StopToolCalls})
		default:
			return answer("led")(ctx, req, yield)
		}
		return nil
	})
	return setup{model: spendingModel(m), limits: taskt.Limits{Depth: 3}, budget: treeBudget, files: map[string]string{
		"lead.md": "---\ndescription: Leads.\ninspectable: true\n---\n",
		"free.md": "---\ndescription: Runs on.\ndetached: true\n---\n",
	}}
}

// sameEnd checks that the session of a caller has ended as its only subagent has.
func sameEnd(t *testing.T, e *env, child *record.Record) {
	t.Helper()
	if root := recordOf(t, e, child.ParentID); root.Status != child.Status {
		t.Errorf("its caller is %s: %s", root.Status, root.Error)
	}
}

func recordOf(t *testing.T, e *env, id string) *record.Record {
	t.Helper()
	r, err := e.sessions.Store().Index.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// killPoints are after how many appends a process is killed: after each with SOAK, after every
// fifth with WORKER_TEST_LONG, and else after the first append of each kind.
func killPoints(stored []*nats.Msg) (points []int) {
	step := len(stored)
	switch {
	case os.Getenv("SOAK") != "":
		step = 1
	case os.Getenv("WORKER_TEST_LONG") != "":
		step = 5
	}
	kinds := make(map[string]bool)
	for i, m := range stored {
		kind, _ := bustest.Stored(m)
		if i%step == 0 || !kinds[kind] || i == len(stored)-1 {
			points = append(points, i+1)
		}
		kinds[kind] = true
	}
	return points
}

// TestKilledTree: a process that ran nested subagents in the background is killed at any point.
// Each parent reads of each end once: from its process, or from the one that ends its sessions.
// An end in the result of a call is not announced again.
func TestKilledTree(t *testing.T) {
	stored, boot := recordTree(t)
	bus := openBus(t, t.TempDir())
	texts := make(map[string]string) // of the messages about completed sessions
	for _, n := range killPoints(stored) {
		killAt(t, bus, stored[:n], boot)
		sessions, err := store.Open(t.Context(), bus)
		if err != nil {
			t.Fatal(err)
		}
		sessions.Notices.EndNotes = control.EndNotes
		for range 2 { // the second finds nothing to do
			if _, err := sessions.Recovery.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			checkTold(t, bus, sessions, texts)
			checkBudgets(t, bus, sessions)
			checkTotals(t, sessions)
		})
		if t.Failed() {
			return
		}
	}
	noted := 0
	for _, text := range texts {
		noted += strings.Count(text, "</task_result>\n[worker: session ses_")
	}
	if noted == 0 {
		t.Errorf("no message has notes: %q", texts)
	}
}

// killAt makes of a store what processes have left that were killed when they had stored
// so much.
func killAt(t *testing.T, bus *eventbus.Bus, stored []*nats.Msg, boots ...string) {
	t.Helper()
	if _, err := store.Open(t.Context(), bus); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{eventbus.Stream, "KV_AGENT_SESSIONS"} {
		stream, err := bus.JetStream().Stream(t.Context(), name)
		if err == nil {
			err = stream.Purge(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var acks []jetstream.PubAckFuture
	for _, m := range stored {
		ack, err := bus.JetStream().PublishMsgAsync(m)
		if err != nil {
			t.Fatal(err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			t.Fatal(err)
		}
	}
	leases, err := bus.JetStream().KeyValue(t.Context(), lease.BucketName)
	if err != nil {
		t.Fatal(err)
	}
	for _, boot := range boots {
		killed, err := json.Marshal(lease.Lease{Worker: lease.Worker{BootID: boot}, Ended: true})
		if err == nil {
			_, err = leases.Put(t.Context(), "ws."+boot, killed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkTold checks which ends the sessions of a store were told. The messages about completed
// sessions are the same in texts, whichever process wrote them.
func checkTold(t *testing.T, bus *eventbus.Bus, sessions *store.Store, texts map[string]string) {
	records, err := sessions.Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if !r.Closed {
			t.Errorf("%s %s is %s, and not closed", r.ID, r.Agent, r.Status)
		}
		if r.ParentID == "" || !r.Background {
			continue
		}
		told, known, text := heard(t, bus, r)
		if text != "" && r.Status == record.Completed {
			if before := texts[r.ID]; before != "" && before != text {
				t.Errorf("%s was told of the end of %s in other words:\n%s\nnot\n%s", r.ParentID, r.ID, text, before)
			}
			texts[r.ID] = text
		}
		answer := ""
		if r.Status == record.Completed {
			if answer, err = sessions.Transcripts.LastAnswer(t.Context(), r); err != nil {
				t.Error(err)
			}
		}
		want := 1
		if outcome.Skipped(answer) || known && told == 0 {
			want = 0
		}
		parent, err := sessions.Index.Get(t.Context(), r.ParentID)
		if err != nil || parent.EndedAt.Before(r.EndedAt) {
			want = 0 // it had ended before
			if err != nil || !r.Detached {
				t.Errorf("the parent of %s, %v", r.ID, err)
			}
		}
		if r.Detached && err == nil && r.Takeovers+parent.Takeovers > 0 { // its parent may end at the same time
			want = min(told, want)
		}
		if told != want {
			t.Errorf("%s was told %d times of the end of %s (%s), want %d; by a call: %t", r.ParentID, told, r.ID, r.Status, want, known)
		}
	}
}

// checkTotals checks that the total of each session is its own use, with the totals of those
// right below it. A detached one may have ended after its caller.
func checkTotals(t *testing.T, sessions *store.Store) {
	t.Helper()
	records, err := sessions.Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		least := r.Own()
		for _, c := range records {
			if c.ParentID == r.ID && !c.Detached && c.Total != nil {
				least = least.Add(*c.Total)
			}
		}
		most := least
		for _, c := range records {
			if c.ParentID == r.ID && c.Detached && c.Total != nil {
				most = most.Add(*c.Total)
			}
		}
		if r.Total == nil || *r.Total != least && *r.Total != most {
			t.Errorf("the total of %s %s is %+v, want %+v or %+v", r.ID, r.Agent, r.Total, least, most)
		}
	}
}

// heard counts the messages about the end of a session in the log of its parent. It also
// returns them, and whether the result of a call there has the end.
func heard(t *testing.T, bus *eventbus.Bus, r *record.Record) (told int, known bool, text string) {
	notice, calls := outcome.NoticeID(r.ID), make(map[string]bool)
	for entry, err := range bus.Log(t.Context(), r.Path[:len(r.Path)-1]) {
		if err != nil {
			t.Fatal(err)
		}
		var data struct {
			ID, CallID, ToolCallID string
			IDs                    []string
			Text                   string
		}
		if err := json.Unmarshal(entry.Data, &data); err != nil && entry.Kind != "budget" {
			t.Fatal(err)
		}
		switch entry.Kind {
		case "message":
			if data.ID == notice {
				told++
				text = data.Text
				if !strings.Contains(data.Text, "\nstatus: "+string(r.Status)+"\n") {
					t.Errorf("%s is %s, and its parent was told\n%s", r.ID, r.Status, data.Text)
				}
			}
		case "known":
			calls[data.CallID] = calls[data.CallID] || slices.Contains(data.IDs, notice)
		case event.ToolCallEnd{}.Type():
			known = known || calls[data.ToolCallID]
		}
	}
	return told, known, text
}
