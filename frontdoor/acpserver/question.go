package acpserver

import (
	"encoding/json"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/record"
)

// The options of a question.
const (
	allowOnce   = "allow_once"
	allowAlways = "allow_always"
	rejectOnce  = "reject_once"
)

// answerOf is what an outcome means: what was not offered, and no choice, deny the call.
func answerOf(outcome acp.RequestPermissionOutcome, offered []acp.PermissionOption) approval.Answer {
	if outcome.Selected == nil {
		return approval.Answer{Feedback: "the question was dismissed."}
	}
	for _, o := range offered {
		if o.OptionId != outcome.Selected.OptionId {
			continue
		}
		switch o.OptionId {
		case allowOnce:
			return approval.Answer{Verdict: approval.ApproveOnce}
		case allowAlways:
			return approval.Answer{Verdict: approval.ApproveAlways}
		case rejectOnce:
			return approval.Answer{}
		}
	}
	return approval.Answer{Feedback: "the editor has answered with something that it was not offered."}
}

// questionOf is a question about a call, whose paths are relative to dir. names makes it say
// which agent asks. It offers to allow a call only if the title shows all of it, and a rule
// only if everything is shown.
func questionOf(a *approval.Approval, dir string, names bool) acp.RequestPermissionRequest {
	text, rest := caller.CallText(a)
	title, complete := termtext.Visible(text, termtext.MaxQuestion)
	title = termtext.OneLine(a.Tool, termtext.MaxName) + " " + title
	if names {
		title = termtext.OneLine(a.Agent, termtext.MaxName) + " asks: " + title
	}
	content, all := contentOf(a, dir, rest)
	options := []acp.PermissionOption{}
	if complete {
		options = append(options, acp.PermissionOption{OptionId: allowOnce, Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce})
	} else {
		content = append(content, block("Not all of it can be shown here: see `worker approvals list --json`."))
	}
	rules, allRules := termtext.Visible(strings.Join(gate.AlwaysRules(a.AlwaysPatterns), ", "), termtext.MaxQuestion)
	if complete && all && allRules && len(a.AlwaysPatterns) > 0 {
		options = append(options, acp.PermissionOption{
			OptionId: allowAlways, Name: "Always allow " + termtext.OneLine(a.Tool, termtext.MaxName) + ": " + rules, Kind: acp.PermissionOptionKindAllowAlways,
		})
	}
	options = append(options, acp.PermissionOption{OptionId: rejectOnce, Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce})
	s := &shown{dir: dir}
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
func contentOf(a *approval.Approval, dir, arguments string) (content []acp.ToolCallContent, all bool) {
	all = true
	s := &shown{dir: dir}
	if !hides(a.Arguments) {
		content = s.diff(a.Tool, argumentsOf(a.Arguments))
	}
	if content == nil && arguments != "" {
		var text string
		text, all = termtext.Visible(arguments, termtext.MaxQuestion)
		content = append(content, block(fenced(text)))
	}
	reason, _ := termtext.Visible(a.Reason, termtext.MaxReason)
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

// dirOf returns what the paths of a session are relative to: its worktree, where it has one.
func dirOf(r *record.Record, root string) string {
	if r.Worktree != nil {
		return r.Worktree.Path
	}
	return root
}
