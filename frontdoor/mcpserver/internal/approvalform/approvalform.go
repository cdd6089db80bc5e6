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

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
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
	call, _, _ := strings.Cut(textOf(a, hosts.Unknown.Form).message, "\n")
	return &mcp.ElicitParams{
		Mode:          "url",
		Message:       call + "\nAllow or deny it on the page. 'worker page' prints a link that logs a browser in.",
		URL:           page + "/sessions/" + url.PathEscape(a.SessionID),
		ElicitationID: a.ID,
	}
}

// Read puts what a form was filled in with into an answer. A decision that the form did
// not offer is an error.
func Read(answer *approval.Answer, a *approval.Approval, f hosts.Form, content map[string]any) error {
	decision, _ := content["decision"].(string)
	if !slices.Contains(textOf(a, f).choices, decision) {
		return fmt.Errorf("the host has sent the form back with the decision %q, which it does not offer", termtext.OneLine(decision, 60))
	}
	switch decision {
	case allowOnce:
		answer.Verdict = approval.ApproveOnce
	case allowAlways:
		answer.Verdict = approval.ApproveAlways
	case deny:
		reason, _ := content["reason"].(string)
		answer.Feedback = termtext.OneLine(strings.TrimSpace(reason), 2000)
	}
	return nil
}

// text is what the form of an approval says and offers.
type text struct {
	message string
	note    string // about the decision
	choices []string
}

// textOf returns what an approval's form shows. The first line holds the call in full:
// some hosts show only the first rows. A user may add a rule who sees all of the
// message, and let a call through who was sent all of it.
func textOf(a *approval.Approval, f hosts.Form) text {
	call, arguments := caller.CallText(a)
	first, complete := termtext.Visible(call, termtext.MaxForm)
	lines := []string{fmt.Sprintf("%s: %s %s", termtext.OneLine(a.Agent, 40), termtext.OneLine(a.Tool, termtext.MaxName), first)}
	arguments, all := termtext.Visible(arguments, termtext.MaxForm)
	if arguments != "" {
		lines = append(lines, "with "+arguments)
	}
	t := text{choices: []string{deny}}
	if complete {
		t.choices = append(t.choices, allowOnce)
	}
	if rule, shown := termtext.Visible(strings.Join(a.AlwaysPatterns, ", "), termtext.MaxForm); complete && all && shown && len(a.AlwaysPatterns) > 0 {
		rule = fmt.Sprintf("%q adds a rule for %s: %s", allowAlways, termtext.OneLine(a.Tool, termtext.MaxName), rule)
		if withRule := slices.Insert(slices.Clone(lines), 1, rule); shows(f, withRule) {
			lines = withRule
			t.choices = append(t.choices, allowAlways)
		}
	}
	t.message = strings.Join(lines, "\n")
	reason, _ := termtext.Visible(a.Reason, termtext.MaxReason)
	t.note = fmt.Sprintf("Without an answer it is refused at %s. %s", a.ExpiresAt.Local().Format(time.TimeOnly), reason)
	if !complete || !all || !shows(f, lines) {
		t.note = "Not all of it may be shown: see 'worker approvals list --json'. " + t.note
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
