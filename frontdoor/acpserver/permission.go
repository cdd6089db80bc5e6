package acpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
)

// The options of a question.
const (
	allowOnce   = "allow_once"
	allowAlways = "allow_always"
	rejectOnce  = "reject_once"
)

// maxShown bounds, in characters, what a question shows of one text.
const maxShown = 4000

// answerTime bounds the storing of an answer.
const answerTime = 10 * time.Second

// ask puts a call that waits to the client's user, until it is answered. That of a
// subagent is shown to the client first, which knows nothing of it.
func (v *view) ask(around []event.SubagentEvent, ev event.ToolApprovalRequired) {
	id, dir, child := callID(around, ev.ToolCallID), v.opts.Root, len(around) > 0
	if child {
		dir = v.dirOf(ev.SessionID)
	}
	a, err := v.opts.Sessions.Approval(v.ctx, ev.ApprovalID)
	switch {
	case err != nil:
		v.cannotAsk(id, ev.ApprovalID, err)
		return
	case !a.Pending():
		return
	}
	request := questionOf(a, dir, child)
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
	ctx, withdraw := context.WithDeadline(v.ctx, ev.ExpiresAt)
	v.questions[ev.ApprovalID] = withdraw
	v.below.Go(func() {
		defer withdraw()
		err := v.question(ctx, request, ev.ApprovalID)
		if err == nil || ctx.Err() != nil || errors.As(err, new(*store.AnsweredError)) {
			return
		}
		v.cannotAsk(id, ev.ApprovalID, err)
	})
}

// cannotAsk says who else can answer.
func (v *view) cannotAsk(id, approvalID string, err error) {
	v.log.Warn("the editor's user was not asked: 'worker approvals' can answer", "approval", approvalID, "err", err)
	v.update(v.id, acp.UpdateToolCall(acp.ToolCallId(id), acp.WithUpdateContent([]acp.ToolCallContent{
		block(fmt.Sprintf("It waits for an answer, which this editor can't give: `worker approvals approve %s`, or `deny`.", approvalID)),
	})))
}

// question asks the client, and stores what it answers. An error is that of a client that
// can't be asked.
func (v *view) question(ctx context.Context, request acp.RequestPermissionRequest, approvalID string) error {
	response, err := acp.SendRequest[acp.RequestPermissionResponse](v.peer, ctx, acp.ClientMethodSessionRequestPermission, request)
	if err != nil {
		return err
	}
	answer := answerOf(response.Outcome, request.Options)
	answer.By = v.by()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	_, err = v.opts.Sessions.Answer(ctx, approvalID, answer)
	return err
}

// answerOf is what an outcome means: what was not offered, and no choice, deny the call.
func answerOf(outcome acp.RequestPermissionOutcome, offered []acp.PermissionOption) store.Answer {
	if outcome.Selected == nil {
		return store.Answer{Feedback: "the question was dismissed."}
	}
	for _, o := range offered {
		if o.OptionId != outcome.Selected.OptionId {
			continue
		}
		switch o.OptionId {
		case allowOnce:
			return store.Answer{Verdict: store.ApproveOnce}
		case allowAlways:
			return store.Answer{Verdict: store.ApproveAlways}
		case rejectOnce:
			return store.Answer{}
		}
	}
	return store.Answer{Feedback: "the editor has answered with something that it was not offered."}
}

// questionOf is a question about a call, whose paths are relative to dir. names has it say
// which agent asks. What is not shown whole can't be allowed here, and no rule is added
// by who has not seen all.
func questionOf(a *store.Approval, dir string, names bool) acp.RequestPermissionRequest {
	text, rest := caller.CallText(a)
	title, whole := termtext.Visible(text, maxShown)
	title = termtext.OneLine(a.Tool, 60) + " " + title
	if names {
		title = termtext.OneLine(a.Agent, 60) + " asks: " + title
	}
	content, all := contentOf(a, dir, rest)
	options := []acp.PermissionOption{}
	if whole {
		options = append(options, acp.PermissionOption{OptionId: allowOnce, Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce})
	} else {
		content = append(content, block("Not all of it can be shown here: see `worker approvals list --json`."))
	}
	rules, shown := termtext.Visible(strings.Join(gate.AlwaysRules(a.AlwaysPatterns), ", "), maxShown)
	if whole && all && shown && len(a.AlwaysPatterns) > 0 {
		options = append(options, acp.PermissionOption{
			OptionId: allowAlways, Name: "Always allow " + termtext.OneLine(a.Tool, 60) + ": " + rules, Kind: acp.PermissionOptionKindAllowAlways,
		})
	}
	options = append(options, acp.PermissionOption{OptionId: rejectOnce, Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce})
	s := shownIn(dir)
	return acp.RequestPermissionRequest{
		Options: options,
		ToolCall: acp.ToolCallUpdate{
			Title: &title, Kind: acp.Ptr(kindOf(a.Tool)), Status: acp.Ptr(acp.ToolCallStatusPending),
			Content: content, Locations: s.locations(argumentsOf(a.Arguments)), RawInput: rawOf(a.Arguments),
		},
	}
}

// contentOf is what is shown below a question's title: of an edit what it changes, of
// another call its arguments; and why it is asked. all false: there is more.
func contentOf(a *store.Approval, dir, arguments string) (content []acp.ToolCallContent, all bool) {
	all = true
	s := shownIn(dir)
	if !hides(a.Arguments) {
		content = s.diff(a.Tool, argumentsOf(a.Arguments))
	}
	if content == nil && arguments != "" {
		var text string
		text, all = termtext.Visible(arguments, maxShown)
		content = append(content, block(fenced(text)))
	}
	reason, _ := termtext.Visible(a.Reason, 400)
	return append(content, block(reason)), all
}

// hides reports whether what an edit writes has characters that an editor may not show.
func hides(raw string) bool {
	var args arguments
	if json.Unmarshal([]byte(raw), &args) != nil {
		return true
	}
	return strings.ContainsFunc(args.Path+args.OldText+args.NewText+args.Content, func(r rune) bool {
		return r != '\n' && r != '\t' && r != '\r' && termtext.Hides(r)
	})
}

func shownIn(dir string) *shown { return &shown{dir: dir} }

// dirOf returns what the paths of a session are relative to, if it is known.
func (v *view) dirOf(sessionID string) string {
	r, err := v.opts.Sessions.Get(v.ctx, sessionID)
	if err != nil { // nothing but a link is wrong
		return v.opts.Root
	}
	return dirOf(r, v.opts.Root)
}

// dirOf returns what the paths of a session are relative to: its worktree, where it has one.
func dirOf(r *store.Record, root string) string {
	if r.Worktree != nil {
		return r.Worktree.Path
	}
	return root
}
