package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/store"
)

// Carry returns what was set for a session that is to go on in another one, and for
// those above it, with what their trees have used, as their logs say. Of a model call
// that was cut off nobody knows what it has used: what was set aside for it counts.
// Left out are the sessions of within, which the other one runs below: their meters
// are there.
func Carry(ctx context.Context, sessions *store.Store, of event.Path, within event.Path) ([]Set, error) {
	var carried []Set
	for n := len(of); n > 0; n-- {
		if slices.ContainsFunc(within, func(hop event.Hop) bool { return hop.SessionID == of[n-1].SessionID }) {
			break
		}
		sets, err := Own(ctx, sessions, of[:n])
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			set.Used.add(set.Own)
			set.Own = Use{}
			carried = append(carried, set)
		}
	}
	return carried, nil
}

// Own returns what was set for a session that goes on itself, or that those below it
// share, with what was used of it.
func Own(ctx context.Context, sessions *store.Store, path event.Path) ([]Set, error) {
	state, err := sessions.State(ctx, path)
	if err != nil || state.Budget == nil {
		return nil, err
	}
	var sets []Set
	if err := json.Unmarshal(state.Budget, &sets); err != nil {
		return nil, fmt.Errorf("the budget of session %s can't be read: %w", path[len(path)-1].SessionID, err)
	}
	used, err := Spent(ctx, sessions, path)
	for i := range sets {
		sets[i].Own = used
		if sets[i].Began.IsZero() {
			sets[i].Began = state.Record.StartedAt
		}
	}
	return sets, err
}

// Spent returns what a session and those below it have used, as their logs say.
func Spent(ctx context.Context, sessions *store.Store, top event.Path) (Use, error) {
	var used Use
	records, err := sessions.Tree(ctx, top)
	if err != nil {
		return used, err
	}
	for _, r := range records {
		state, err := sessions.State(ctx, r.Path)
		if err != nil {
			return used, err
		}
		if state.Record.Agent == "" {
			continue
		}
		cost, _ := state.Record.Usage.Paid() // of a model without a price it is not limited
		usage, unsettled := state.Record.Usage, state.Unsettled
		used.add(Use{
			Tokens:     usage.InputTokens + usage.OutputTokens + unsettled.Tokens,
			Cost:       int64(cost) + unsettled.Cost,
			ModelCalls: int64(state.Record.Steps) + unsettled.ModelCalls,
			ToolCalls:  state.ToolCalls,
		})
	}
	return used, nil
}
