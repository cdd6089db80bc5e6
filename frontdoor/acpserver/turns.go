package acpserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/conversation"
)

func (c *connection) cancelTurn(_ context.Context, p acp.CancelNotification) (any, error) {
	t, err := c.talkOf(p.SessionId)
	if err != nil {
		return nil, err
	}
	t.stop()
	return nil, nil
}

func (c *connection) prompt(ctx context.Context, p acp.PromptRequest) (any, error) {
	t, err := c.talkOf(p.SessionId)
	if err != nil {
		return nil, err
	}
	text, attached, err := c.readPrompt(p.Prompt)
	if err != nil {
		return nil, invalid(err)
	}
	ctx, end, err := t.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	answer := t.Prompt(ctx, text, attached...)
	t.mu.Lock()
	s := t.stream
	t.mu.Unlock()
	if s != nil {
		s.await(t.life, answer.Seq)
	}
	reason, err := stopReason(ctx, answer)
	if err != nil {
		return nil, err
	}
	return &acp.PromptResponse{StopReason: reason}, nil
}

// stopReason says why a turn has ended; what has failed is an error.
func stopReason(ctx context.Context, a conversation.Answer) (acp.StopReason, error) {
	switch {
	case ctx.Err() != nil, a.Status == record.Cancelled:
		return acp.StopReasonCancelled, nil
	case a.Stop == model.StopRefusal:
		return acp.StopReasonRefusal, nil
	case a.Err != nil:
		return "", a.Err
	case a.Reason == event.StopSteps:
		return acp.StopReasonMaxTurnRequests, nil
	case a.Stop == model.StopMaxTokens:
		return acp.StopReasonMaxTokens, nil
	}
	return acp.StopReasonEndTurn, nil
}

func (c *connection) setMode(_ context.Context, p acp.SetSessionModeRequest) (any, error) {
	t, err := c.talkOf(p.SessionId)
	if err != nil {
		return nil, err
	}
	if err := t.setAgent(string(p.ModeId)); err != nil {
		return nil, err
	}
	t.update(t.id, acp.SessionUpdate{ConfigOptionUpdate: &acp.SessionConfigOptionUpdate{ConfigOptions: t.options()}})
	return &acp.SetSessionModeResponse{}, nil
}

func (c *connection) setOption(_ context.Context, p acp.SetSessionConfigOptionRequest) (any, error) {
	if p.ValueId == nil {
		return nil, invalid(errors.New("there are no options that are on or off"))
	}
	t, err := c.talkOf(p.ValueId.SessionId)
	if err != nil {
		return nil, err
	}
	switch value := string(p.ValueId.Value); p.ValueId.ConfigId {
	case agentOption:
		if err := t.setAgent(value); err != nil {
			return nil, err
		}
		t.update(t.id, acp.SessionUpdate{CurrentModeUpdate: &acp.SessionCurrentModeUpdate{CurrentModeId: acp.SessionModeId(t.agent())}})
	case modelOption:
		if err := t.setModel(value); err != nil {
			return nil, err
		}
	default:
		return nil, invalid(fmt.Errorf("there is no option %q: there are agent and model", termtext.OneLine(string(p.ValueId.ConfigId), termtext.MaxTitle)))
	}
	return &acp.SetSessionConfigOptionResponse{ConfigOptions: t.options()}, nil
}
