package taskt_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/budget"
)

// treeBudget is what each task of [recordTree]'s caller may use with all below it.
var treeBudget = taskt.Budget{Tokens: 1_000_000, ModelCalls: 40, ToolCalls: 40}

// spendingModel is a model that tells before it stops what it has used.
func spendingModel(m modelFunc) modelFunc {
	return func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		return m(ctx, req, func(part model.Part) bool {
			if _, stops := part.(model.Stop); stops && !yield(model.Usage{InputTokens: 100, OutputTokens: 10}) {
				return false
			}
			return yield(part)
		})
	}
}

// checkBudgets checks the budget that the next run of each task would have. Its usage is that
// of the logs, plus at most one model call for each session that was cut off. It is within the
// limit.
func checkBudgets(t *testing.T, bus *eventbus.Bus, sessions *store.Store) {
	t.Helper()
	records, err := sessions.Index.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]budget.Use)
	for _, r := range records {
		shown[r.ID] = shownUse(t, bus, r)
	}
	for _, r := range records {
		if r.Depth != 1 {
			continue
		}
		sets, err := budget.Carry(t.Context(), sessions, r.Path, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		var least budget.Use
		cut := int64(0)
		for _, below := range records {
			if slices.ContainsFunc(below.Path.IDs(), func(id string) bool { return record.SameConversation(id, r.ID) }) {
				cut += 1 + int64(below.Takeovers)
				for i, n := range shown[below.ID] {
					least[i] += n
				}
			}
		}
		if len(sets) == 0 && least != (budget.Use{}) {
			t.Errorf("%s %s has used %v, and its next run would have no budget", r.ID, r.Agent, least)
		}
		most := least
		most[budget.ModelCalls] += cut
		most[budget.Tokens] += cut * 20_000
		for _, set := range sets {
			used, limit := set.Used, set.Limits
			for i := range used {
				if used[i] < least[i] || used[i] > most[i] {
					t.Errorf("%s %s has used %v, and its logs show %v to %v", r.ID, r.Agent, used, least, most)
				}
			}
			if used[budget.Tokens] > limit.Tokens || used[budget.ModelCalls] > limit.ModelCalls || used[budget.ToolCalls] > limit.ToolCalls {
				t.Errorf("%s %s has used %v of %+v", r.ID, r.Agent, used, limit)
			}
		}
	}
}

// shownUse counts in the log of an agent's session what its events tell of its use.
func shownUse(t *testing.T, bus *eventbus.Bus, r *record.Record) (use budget.Use) {
	t.Helper()
	if r.Agent == "" {
		return use
	}
	for e, err := range bus.Log(t.Context(), r.Path) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case event.Usage{}.Type():
			var usage event.Usage
			if err := json.Unmarshal(e.Data, &usage); err != nil {
				t.Fatal(err)
			}
			use[budget.Tokens] += usage.InputTokens + usage.OutputTokens
			use[budget.ModelCalls]++
		case event.ToolCallStart{}.Type():
			use[budget.ToolCalls]++
		}
	}
	return use
}
