package acpserver

import (
	"encoding/json"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
	"github.com/agentworker/worker/session/record"
)

// The options of a question.
const (
	allowOnce   = "allow_once"
	allowAlways = "allow_always"
	rejectOnce  = "reject_once"
)

// answerOf is what an outcome means: what was not offered, and no choice, deny the call. ask is
// what the agent itself asks; nil means that it asks for permission.
func answerOf(outcome acp.RequestPermissionOutcome, offered []acp.PermissionOption, ask *event.Ask) approval.Answer {
	if outcome.Selected == nil {
		return approval.Answer{Feedback: "the question was dismissed."}
	}
	for _, o := range offered {
		if o.OptionId != outcome.Selected.OptionId {
			continue
		}
		if answer, ok := answerTo(ask, o.OptionId); ok {
			return answer
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

// questionOf is a question about a call, whose paths are relative to dir. It offers to allow a
// call, or a rule, only if all of it is shown.
func questionOf(a *approval.Approval, dir string) acp.RequestPermissionRequest {
	v := question.New(a, question.Editor)
	if a.Ask != nil {
		return ofAgent(a, v)
	}
	title := v.Headline()
	options := []acp.PermissionOption{}
	if v.LeftOut == "" {
		options = append(options, acp.PermissionOption{OptionId: allowOnce, Name: "Allow once", Kind: acp.PermissionOptionKindAllowOnce})
	}
	if len(v.Always) > 0 {
		options = append(options, acp.PermissionOption{OptionId: allowAlways, Name: "Always allow " + strings.Join(v.Always, ", "), Kind: acp.PermissionOptionKindAllowAlways})
	}
	options = append(options, acp.PermissionOption{OptionId: rejectOnce, Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce})
	s := &shown{dir: dir}
	return acp.RequestPermissionRequest{
		Options: options,
		ToolCall: acp.ToolCallUpdate{
			Title: &title, Kind: acp.Ptr(kindOf(a.Tool)), Status: acp.Ptr(acp.ToolCallStatusPending),
			Content: s.contentOf(a, v), Locations: s.locations(argumentsOf(a.Arguments)), RawInput: rawOf(a.Arguments),
		},
	}
}

// contentOf is what is shown below a question's title. An edit is shown as editors show
// changes, unless it has characters that they may hide.
func (s *shown) contentOf(a *approval.Approval, v question.View) (content []acp.ToolCallContent) {
	parts := v.Parts
	if len(parts) == 1 && toolcatalog.IsWriter(a.Tool) && (parts[0].Form == event.FormDiff) == (a.Tool == toolcatalog.EditFile) && v.LeftOut == "" && !hides(a.Arguments) {
		if content = s.diff(a.Tool, argumentsOf(a.Arguments)); content != nil {
			parts = nil
		}
	}
	for _, p := range parts {
		text := fenced(strings.Join(p.Lines, "\n"))
		if p.Form == event.FormDiff {
			text = strings.Replace(text, "\n", "diff\n", 1)
		}
		content = append(content, block(p.Name+":\n"+text))
	}
	if len(v.Wants) > 0 {
		content = append(content, block("The rules see:\n"+fenced(strings.Join(v.Wants, "\n"))))
	}
	if v.LeftOut != "" {
		content = append(content, block(v.LeftOut))
	}
	return append(content, block(v.Reason))
}

// hides reports whether what an edit writes has characters that an editor may not show.
func hides(raw string) bool {
	var args arguments
	if json.Unmarshal([]byte(raw), &args) != nil {
		return true
	}
	all := args.Path + args.OldText + args.NewText + args.Content
	for _, e := range args.Edits {
		all += e.OldText + e.NewText
	}
	return strings.ContainsFunc(all, func(r rune) bool {
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
