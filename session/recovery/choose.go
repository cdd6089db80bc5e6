package recovery

import (
	"context"
	"slices"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/index"
)

// choose returns which sessions of exited processes this one resumes, parents first. For
// each of the others, why has the reason if the adopter gave one. It chooses subagents
// whose last step allows it:
//
// - In the background, below a resumed parent or one that represents a caller. - Detached,
// whatever happens to their parents. - With a call of a resumed agent's session still
// waiting for them.
//
// A session that represents a caller is chosen together with the sessions below it.
func (rec *Recovery) choose(ctx context.Context, ad Adopter, open []index.Stored, ours func(index.Stored) bool, handedOver map[string]bool) (chosen []index.Stored, why map[string]error, err error) {
	byID := make(map[string]bool) // open sessions; true: chosen
	why = make(map[string]error)
	background := false
	for _, o := range open {
		byID[o.ID] = false
		background = background || o.Background && ours(o)
	}
	if !background {
		return nil, why, nil
	}
	below := make(map[string]bool)             // roots with chosen sessions below them
	waits := make(map[string][]model.ToolCall) // the calls of chosen sessions without an outcome
	open = slices.Clone(open)
	slices.SortStableFunc(open, func(a, b index.Stored) int { return a.Depth - b.Depth })
	for _, o := range open {
		switch {
		case !ours(o), o.EndedBy != "", o.Status.Ended():
			continue
		case o.Agent == "" && o.Depth == 0:
			byID[o.ID] = true
			chosen = append(chosen, o)
			continue
		case !o.Background && o.Depth < 2, !o.Detached && !byID[o.ParentID]: // nobody waits for it any more
			continue
		}
		state, err := rec.index.State(ctx, o.Path)
		if err != nil {
			return nil, nil, err
		}
		if !state.Record.Background && !slices.ContainsFunc(waits[o.ParentID], func(c model.ToolCall) bool { return c.ID == state.CallID }) {
			continue
		}
		if handedOver[o.BootID] {
			state.Record.HandOvers++
		}
		if why[o.ID] = ad.May(ctx, state); why[o.ID] != nil || state.Record.Closed || !state.Opened {
			continue
		}
		byID[o.ID] = true
		waits[o.ID] = state.Open
		below[o.Path[0].SessionID] = true
		chosen = append(chosen, o)
	}
	chosen = slices.DeleteFunc(chosen, func(o index.Stored) bool { return o.Agent == "" && !below[o.ID] })
	return chosen, why, nil
}
