package acpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
)

// answerTime bounds the storing of an answer.
const answerTime = 10 * time.Second

// withdraw ends what the client's user is asked about an approval.
func (v *renderer) withdraw(approvalID string) {
	if withdraw := v.questions[approvalID]; withdraw != nil {
		withdraw()
		delete(v.questions, approvalID)
	}
}

// ask puts a call, or a question, that waits to the client's user, until it is answered. That of
// a subagent is shown to the client first, which knows nothing of it.
func (v *renderer) ask(path event.Path, approvalID, toolCallID string) {
	id, dir, child := callID(path, toolCallID), v.opts.Root, len(path) > 1
	if child {
		dir = v.dirOf(path[len(path)-1].SessionID)
	}
	a, err := v.opts.Sessions.Approvals.Get(v.ctx, approvalID)
	switch {
	case err != nil:
		v.cannotAsk(id, approvalID, err)
		return
	case !a.Pending() || v.questions[approvalID] != nil:
		return
	}
	request := questionOf(a, dir)
	request.SessionId, request.ToolCall.ToolCallId = acp.SessionId(v.id), acp.ToolCallId(id)
	if child {
		v.asked[id] = true
		call := request.ToolCall
		v.update(v.id, acp.StartToolCall(acp.ToolCallId(id), *call.Title, acp.WithStartKind(*call.Kind), acp.WithStartStatus(*call.Status),
			acp.WithStartContent(call.Content), acp.WithStartLocations(call.Locations), acp.WithStartRawInput(call.RawInput)))
	}
	if a.SecondPerson != nil { // the client's user is who has asked for the work
		v.update(v.id, acp.UpdateToolCall(acp.ToolCallId(id), acp.WithUpdateContent([]acp.ToolCallContent{
			block(fmt.Sprintf("It waits for an answer, which this editor can't give. %s `worker approvals deny %s` refuses it.", a.SecondPerson.Text(), a.ID)),
		})))
		return
	}
	ctx, withdraw := context.WithDeadline(v.ctx, a.ExpiresAt)
	v.questions[approvalID] = withdraw
	v.below.Go(func() {
		defer withdraw()
		err := v.question(ctx, request, a)
		if err == nil || ctx.Err() != nil || errors.As(err, new(*approval.AnsweredError)) {
			return
		}
		v.cannotAsk(id, approvalID, err)
	})
}

// cannotAsk says who else can answer.
func (v *renderer) cannotAsk(id, approvalID string, err error) {
	v.log.Warn("the editor's user was not asked: 'worker approvals' can answer", "approval", approvalID, "err", err)
	command := "approve " + approvalID
	if approval.IsQuestion(approvalID) {
		command = "answer " + approvalID + " ANSWER"
	}
	v.update(v.id, acp.UpdateToolCall(acp.ToolCallId(id), acp.WithUpdateContent([]acp.ToolCallContent{
		block(fmt.Sprintf("It waits for an answer, which this editor can't give: `worker approvals %s`, or `deny`.", command)),
	})))
}

// question asks the client, and stores what it answers. An error means that the client
// can't be asked.
func (v *renderer) question(ctx context.Context, request acp.RequestPermissionRequest, a *approval.Approval) error {
	response, err := acp.SendRequest[acp.RequestPermissionResponse](v.peer, ctx, acp.ClientMethodSessionRequestPermission, request)
	if err != nil {
		return err
	}
	answer := answerOf(response.Outcome, request.Options, a.Ask)
	answer.By = v.by()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	_, err = v.opts.Sessions.Approvals.Answer(ctx, a.ID, answer)
	return err
}

// dirOf returns what the paths of a session are relative to, if it is known.
func (v *renderer) dirOf(sessionID string) string {
	r, err := v.opts.Sessions.Index.Get(v.ctx, sessionID)
	if err != nil { // nothing but a link is wrong
		return v.opts.Root
	}
	return dirOf(r, v.opts.Root)
}
