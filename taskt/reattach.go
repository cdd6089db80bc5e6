package taskt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/tool"
)

// madeBy returns the children of a claimed session whose calls have no outcome yet, by the ids
// of these calls. A child that had not begun is left out: its call is made anew.
func (n *claiming) madeBy(ctx context.Context, t *recovery.Claimed) (map[string]*record.Record, error) {
	step := t.State.Step()
	if step == nil || !slices.ContainsFunc(t.State.Open, func(c model.ToolCall) bool { return startsSubagents(c.Name) }) {
		return nil, nil
	}
	sessions := n.service.sessions.Store()
	below, err := sessions.Index.Tree(ctx, t.Record.Path)
	if err != nil {
		return nil, err
	}
	made := make(map[string]*record.Record)
	for _, r := range below {
		if r.ParentID != t.Record.ID || r.ParentMessageID != "" && r.ParentMessageID != step.MessageID {
			continue
		}
		state, err := sessions.Index.State(ctx, r.Path)
		switch {
		case err != nil:
			return nil, err
		case r.Status == record.Interrupted && !state.Prompted:
		case state.CallID == "":
			return nil, fmt.Errorf("it is not known which of its calls has made session %s", r.ID)
		case !r.Status.Ended() && !slices.ContainsFunc(n.claimed, func(t *recovery.Claimed) bool { return t.Record.ID == r.ID }):
			return nil, fmt.Errorf("another process runs session %s, for which a call of it waits", r.ID)
		default:
			made[state.CallID] = r
		}
	}
	return made, nil
}

// reattach continues the calls of a claimed session that have made children. They wait for a
// child that was claimed too, and have the result of one that has ended.
func (n *claiming) reattach(s *session.Session) {
	for callID, r := range n.made[s.ID()] {
		below := n.callOf(r.ID)
		if below == nil || below.req.background() {
			s.Rejoin(callID, func(ctx context.Context, call *tool.Call) (tool.Result, error) {
				return n.service.outcome(ctx, call, r.ID)
			})
			continue
		}
		above := n.callOf(s.ID()).child
		above.unfinished = append(above.unfinished, func(ctx context.Context) {
			if !below.begun {
				below.child.Abandon(ctx, errors.New("the session that called it has ended"))
			}
		})
		s.Rejoin(callID, below.Run)
	}
}

// callOf returns the call whose subagent runs here; nil means there is none.
func (n *claiming) callOf(id string) *call {
	at := slices.IndexFunc(n.calls, func(c *call) bool { return c.child.ID() == id })
	if at < 0 {
		return nil
	}
	return n.calls[at]
}

// outcome returns what an agent's call would have returned if its process had not ended. Its
// subagent runs in the background, or has ended.
func (s *Service) outcome(ctx context.Context, made *tool.Call, childID string) (tool.Result, error) {
	r, err := s.sessions.Store().Index.Get(ctx, childID)
	if err != nil {
		return tool.Result{}, err
	}
	if r.Background {
		in, err := input.Parse(made.Args)
		def, _ := s.agents.Snapshot().Agent(r.Agent)
		moved := err != nil || !(&request{in: in, Target: offer.Target{Def: def}}).background() // an error: a skill's, which waits
		return tool.Result{Text: control.XML("task_accepted", r.Agent, accepted(r.ID, true, moved))}, nil
	}
	result, err := s.control.ResultOf(ctx, r)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: result.ForModel(), IsError: result.Err != nil}, nil
}
