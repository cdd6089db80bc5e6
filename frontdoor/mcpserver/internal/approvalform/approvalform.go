// Package approvalform shows an approval to a host's user, as a form or as a link to the
// page, and reads the form that comes back.
package approvalform

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// The answers that a form offers.
const (
	allowOnce   = "allow once"
	allowAlways = "allow always"
	deny        = "deny"
)

// rowWidth is the least width of a form's rows, in columns.
const rowWidth = 60

// New returns the form of an approval. again: an answer to it came too soon. Hosts
// preselect the first answer, which is therefore to deny.
func New(a *approval.Approval, f hosts.Form, again bool) *mcp.ElicitParams {
	text := textOf(a, f)
	note := text.note
	if again {
		note = "That answer came too soon to have read this: answer again. " + note
	}
	decision := map[string]any{"type": "string", "title": "Decision", "description": note, "enum": text.choices}
	properties := map[string]any{"decision": decision}
	if !f.NoReason {
		properties["reason"] = map[string]any{"type": "string", "title": "Reason", "description": "why not: the subagent reads it", "maxLength": 2000}
	}
	return &mcp.ElicitParams{
		Mode:            "form",
		Message:         text.message,
		RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": []string{"decision"}},
	}
}

// Link sends the user to an approval on the page at an address. It lets nobody in: the
// page wants its user to have logged in.
func Link(a *approval.Approval, page string) *mcp.ElicitParams {
	call, do := question.New(a, question.Form).OneLine(), "Allow or deny it"
	if a.Ask != nil {
		call, do = call+" "+a.Ask.Summary(), "Answer it"
	}
	return &mcp.ElicitParams{
		Mode:          "url",
		Message:       call + "\n" + do + " on the page. 'worker page' prints a link that logs a browser in.",
		URL:           page + "/sessions/" + url.PathEscape(a.SessionID),
		ElicitationID: a.ID,
	}
}

// Read puts what a form was filled in with into an answer. A decision that the form did
// not offer is an error.
func Read(answer *approval.Answer, a *approval.Approval, f hosts.Form, content map[string]any) error {
	if a.Ask != nil {
		answer.Verdict, answer.Answers = approval.AnswerAsk, answersOf(a.Ask, content)
		return a.Check(*answer)
	}
	decision, _ := content["decision"].(string)
	if !slices.Contains(textOf(a, f).choices, decision) {
		return fmt.Errorf("the host has sent the form back with the decision %q, which it does not offer", termtext.OneLine(decision, termtext.MaxName))
	}
	switch decision {
	case allowOnce:
		answer.Verdict = approval.ApproveOnce
	case allowAlways:
		answer.Verdict = approval.ApproveAlways
	case deny:
		reason, _ := content["reason"].(string)
		answer.Feedback = termtext.OneLine(strings.TrimSpace(reason), termtext.MaxText)
	}
	return nil
}

// text is what the form of an approval says and offers.
type text struct {
	message string
	note    string // about the decision
	choices []string
}

// textOf returns what an approval's form shows. Some hosts show only the first rows: the first
// one says what the call would do. A user may add a rule who sees all of the message, and let
// a call through who was sent all of it.
func textOf(a *approval.Approval, f hosts.Form) text {
	v := question.New(a, question.Form)
	lines := []string{v.OneLine()}
	for _, p := range v.Parts {
		if p.Form != event.FormCommand {
			lines = append(append(lines, p.Name+":"), p.Lines...)
		}
	}
	if len(v.Wants) > 0 {
		lines = append(lines, "the rules see: "+strings.Join(v.Wants, ", "))
	}
	t := text{choices: []string{deny}}
	if v.LeftOut == "" {
		t.choices = append(t.choices, allowOnce)
	}
	if len(v.Always) > 0 {
		patterns, _ := termtext.Visible(strings.Join(a.AlwaysPatterns, ", "), termtext.MaxForm)
		rule := fmt.Sprintf("%q adds a rule for %s: %s", allowAlways, v.Tool, patterns)
		if withRule := slices.Insert(slices.Clone(lines), 1, rule); shows(f, withRule) {
			lines = withRule
			t.choices = append(t.choices, allowAlways)
		}
	}
	t.message = strings.Join(lines, "\n")
	t.note = fmt.Sprintf("Without an answer it is refused at %s. %s", a.ExpiresAt.Local().Format(time.TimeOnly), v.Reason)
	if v.For != "" {
		t.note += " Asked for by " + v.For + "."
	}
	if v.LeftOut != "" || !shows(f, lines) {
		t.note = fmt.Sprintf("Not all of it may be shown: worker approvals show %s has it. ", a.ID) + t.note
	}
	return t
}

// shows reports whether the user of a form sees all of these lines.
func shows(f hosts.Form, lines []string) bool {
	rows := 0
	for _, line := range lines {
		width := 0
		for _, r := range line {
			if width++; r >= 0x1100 { // it may need two columns
				width++
			}
		}
		rows += max(1, (width+rowWidth-1)/rowWidth)
	}
	return f.Rows == 0 || rows <= f.Rows
}
