package taskt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/budget"
)

// cleaned runs the subagent of a call that has its session deleted, and returns its record.
func (e *env) cleaned(t *testing.T, in taskt.Input) record.Record {
	t.Helper()
	in.Cleanup = "delete"
	run := e.Start(t.Context(), e.root, in)
	<-run.Done()
	r := run.Result().Record
	if !r.Cleanup {
		t.Fatalf("%+v", run.Result())
	}
	return r
}

// cleanUp has the store delete what it may, and checks of how many sessions that was.
func (e *env) cleanUp(t *testing.T, want int) {
	t.Helper()
	if n, err := e.sessions.Store().Retention.CleanUp(t.Context()); n != want || err != nil {
		t.Errorf("%d deleted, %v, want %d", n, err, want)
	}
}

func (e *env) isThere(t *testing.T, id string, want bool) {
	t.Helper()
	r, err := e.sessions.Store().Index.Get(t.Context(), id)
	if there := err == nil; there != want || !there && !errors.Is(err, record.ErrNotFound) {
		t.Errorf("session %s: %v, %v, want that it is there: %t", id, r, err, want)
	}
}

func (e *env) spent(t *testing.T, path event.Path) budget.Use {
	t.Helper()
	used, err := budget.Used(t.Context(), e.sessions.Store(), path)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// spending answers a prompt; the prompt "fail" fails.
func spending(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	if text, _ := prompt(req); text == "fail" {
		return errors.New("no answer")
	}
	_ = yield(model.TextDelta{Text: "done"}) && yield(model.Usage{InputTokens: 100, OutputTokens: 7}) && yield(model.Stop{Reason: model.StopEnd})
	return nil
}

// TestCleanup: a session is deleted once its result was delivered, and not before; what it
// has used is still known.
func TestCleanup(t *testing.T) {
	e := newEnv(t, modelFunc(spending), taskt.Limits{}, nil)
	waited := e.cleaned(t, taskt.Input{Prompt: "p", AgentType: "explore"})
	failed := e.cleaned(t, taskt.Input{Prompt: "fail", AgentType: "explore"})
	read, unread := e.cleaned(t, background("read")), e.cleaned(t, background("unread"))
	keeps := e.Call(t.Context(), e.root, taskt.Input{Prompt: "p", AgentType: "explore", Cleanup: "keep"}).Record
	used := e.spent(t, e.root.Path())
	if used[budget.Tokens] != 4*107 {
		t.Errorf("used %v", used)
	}
	e.cleanUp(t, 0) // the caller may still ask
	if err := e.root.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := e.do(t, scopeOf(e.root.ID()), "task_result", `{"sessionId":"`+read.ID+`","limit":2}`); err != nil {
		t.Fatal(err)
	}
	e.cleanUp(t, 2)
	if _, err := e.do(t, scopeOf(e.root.ID()), "task_wait", `{"sessionId":"`+read.ID+`"}`); err != nil {
		t.Fatal(err)
	}
	e.cleanUp(t, 1)
	e.cleanUp(t, 0)
	for _, r := range []record.Record{waited, failed, read} {
		e.isThere(t, r.ID, false)
	}
	e.isThere(t, unread.ID, true)
	e.isThere(t, keeps.ID, true)
	if now := e.spent(t, e.root.Path()); now != used {
		t.Errorf("used %v, and %v before the deletion", now, used)
	}
	if n := len(e.stream(t, e.root.Path())); n == 0 {
		t.Error("the stream of the caller is empty")
	}
	if n, err := e.sessions.Store().Retention.Delete(t.Context(), e.root.ID()); n != 3 || err != nil {
		t.Errorf("%d deleted with the caller, %v", n, err)
	}
	e.cleanUp(t, 0)
	if keys := e.cleanupKeys(t); len(keys) > 0 {
		t.Errorf("left behind: %v", keys)
	}
}

func (e *env) cleanupKeys(t *testing.T) []string {
	t.Helper()
	kv, err := e.bus.JetStream().KeyValue(t.Context(), "AGENT_SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := kv.Keys(t.Context())
	if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
		t.Fatal(err)
	}
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.Contains(key, ".clean") })
}

// TestCleanupCutOff: a deletion that a kill has cut off is made up for by the next one, and
// what was used is known all the while.
func TestCleanupCutOff(t *testing.T) {
	for name, cut := range map[string]func(t *testing.T, e *env, r *record.Record){
		"before the log": func(*testing.T, *env, *record.Record) {},
		"before the record": func(t *testing.T, e *env, r *record.Record) {
			if err := e.bus.Purge(t.Context(), r.Path); err != nil {
				t.Fatal(err)
			}
		},
		"before the key": func(t *testing.T, e *env, r *record.Record) {
			if _, err := e.sessions.Store().Retention.Delete(t.Context(), r.ID); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, modelFunc(spending), taskt.Limits{}, nil)
			r := e.cleaned(t, taskt.Input{Prompt: "p", AgentType: "explore"})
			used := e.spent(t, e.root.Path())
			if err := e.root.End(record.Completed, nil); err != nil {
				t.Fatal(err)
			}
			kv, err := e.bus.JetStream().KeyValue(t.Context(), "AGENT_SESSIONS")
			if err != nil {
				t.Fatal(err)
			}
			state, err := e.sessions.Store().Index.State(t.Context(), r.Path)
			if err != nil {
				t.Fatal(err)
			}
			spent, err := json.Marshal([]log.Totals{state.Totals()})
			if err == nil {
				_, err = kv.Create(t.Context(), fmt.Sprintf("ws.cleaned.%s=%d", strings.Join(r.Path.IDs(), "."), r.CreatedAt.UnixNano()), spent)
			}
			if err != nil {
				t.Fatal(err)
			}
			cut(t, e, &r)
			if now := e.spent(t, e.root.Path()); now != used {
				t.Errorf("used %v, and %v before", now, used)
			}
			if _, err := e.sessions.Store().Retention.CleanUp(t.Context()); err != nil {
				t.Error(err)
			}
			e.isThere(t, r.ID, false)
			if now := e.spent(t, e.root.Path()); now != used {
				t.Errorf("used %v in the end, and %v before", now, used)
			}
			if keys := e.cleanupKeys(t); len(keys) != 1 {
				t.Errorf("left behind: %v", keys)
			}
		})
	}
}

// TestCleanupKeeps: a session that can be resumed, or has a worktree, is not deleted. An agent
// can't ask for a deletion.
func TestCleanupKeeps(t *testing.T) {
	for name, spec := range map[string]session.Spec{
		"stopped":  {},
		"worktree": {Worktree: &record.Worktree{Path: "/w", Branch: "b", Files: 1}},
		"resumed":  {},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, modelFunc(spending), taskt.Limits{}, nil)
			spec.Parent, spec.Agent, spec.Background, spec.Cleanup = e.root, "explore", true, true
			spec.Rules = allowAll.ruleset(t)
			child, err := e.sessions.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			out := child.Prompt(t.Context(), "p")
			if name == "stopped" {
				out.Status = record.Cancelled
			}
			if err := child.End(out.Status, nil); err != nil {
				t.Fatal(err)
			}
			if name == "resumed" {
				next := record.Record{Schema: record.Schema, ID: record.ResumedID(child.ID()), Path: e.root.Path().Child(record.ResumedID(child.ID()), "explore"), Resumes: child.ID()}
				if err := e.sessions.Store().Index.Reserve(t.Context(), &next); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.root.End(record.Completed, nil); err != nil {
				t.Fatal(err)
			}
			r := child.Record()
			if err := e.sessions.Store().Retention.NoteRead(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
			e.cleanUp(t, 0)
			e.isThere(t, child.ID(), true)
		})
	}
	t.Run("an agent's call", func(t *testing.T) {
		var result string
		m := modelFunc(func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
			if _, n := prompt(req); n > 0 {
				result = req.Messages[2].ToolResults[0].Text
				return answer("ok")(ctx, req, yield)
			}
			_ = yield(model.ToolCall{ID: "c", Name: "task", Arguments: `{"description":"d","prompt":"p","agentType":"explore","cleanup":"delete"}`}) && yield(model.Stop{Reason: model.StopToolCalls})
			return nil
		})
		e := newEnv(t, m, taskt.Limits{}, leadFile)
		e.runLead(t, "ok")
		if !strings.Contains(result, "cleanup is for hosts and programs") {
			t.Errorf("the call returned %q", result)
		}
	})
}

// TestDeleteCounts: what a subagent has used counts in the budget of its tree also if
// somebody deletes it, or its next run, which may be elsewhere and be made anew.
func TestDeleteCounts(t *testing.T) {
	var spent atomic.Int64
	e := setup{model: delegating(1, &spent, false), budget: taskt.Budget{Tokens: 60_000}}.open(t)
	root, records := e.ranPrimary(t, 1)
	child, next := records[0].ID, ""
	check := func(when string) {
		t.Helper()
		if used := e.spent(t, root.Path()); used[budget.Tokens] != spent.Load() || used[budget.ModelCalls]*400 != spent.Load() {
			t.Errorf("%s: used %v, want %d tokens", when, used, spent.Load())
		}
	}
	remove := func(id string) {
		t.Helper()
		if _, err := e.sessions.Store().Retention.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		res := e.resume(t, child, "go")
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		check("with the next run")
		next = res.SessionID
		remove(next)
		check("without it")
	}
	if res := e.resume(t, child, "go"); res.SessionID != next {
		t.Fatalf("the next run is %s, and was %s", res.SessionID, next)
	}
	remove(child)
	check("without the session that has a next run")
	if err := e.root.End(record.Completed, nil); err != nil {
		t.Fatal(err)
	}
	remove(e.root.ID())
	check("without either")
	if sets, err := budget.Own(t.Context(), e.sessions.Store(), root.Path()); err != nil || len(sets) != 1 || sets[0].Own[budget.Tokens] != spent.Load() {
		t.Errorf("%+v, %v", sets, err)
	}
	remove(root.ID())
	if keys := e.cleanupKeys(t); len(keys) > 0 {
		t.Errorf("left behind: %v", keys)
	}
}
