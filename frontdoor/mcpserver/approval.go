package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/store"
)

// The answers that the form of an approval offers.
const (
	allowOnce   = "allow once"
	allowAlways = "allow always"
	deny        = "deny"
)

const (
	// maxShown bounds, in characters, what a form shows of a call.
	maxShown = 2000

	// rowWidth is how wide, in columns, the rows of a form are at least.
	rowWidth = 60

	// maxHasty is how often a form that comes back before anybody can have read
	// it is put again: a client that fills in forms by itself would be asked
	// without end.
	maxHasty = 2
)

// approval is a tool call of a child that waits for an answer, as a question
// for the host's user.
func (c *connection) approval(ev *event.ToolApprovalRequired) *question {
	id := ev.ApprovalID
	call, _ := termtext.Visible(ev.Summary(), 200)
	var hasty atomic.Int32 // forms that came back too soon
	wants, elsewhere := c.mayAnswer, fmt.Sprintf("worker approvals approve %s, or deny %[1]s (%s)", id, call)
	if ev.SecondPerson { // the host's user is who has asked for the work
		wants = func(*mcp.ClientCapabilities) bool { return false }
		elsewhere = fmt.Sprintf("the approval %s by a second person, who has not asked for the work, or worker approvals deny %[1]s (%s)", id, call)
	}
	return &question{
		id:     id,
		since:  time.Now(),
		until:  ev.ExpiresAt,
		over:   make(chan struct{}),
		unseen: elsewhere,
		wants:  wants,
		request: func(ctx context.Context, p peer) (mcp.InputRequest, error) {
			a, err := c.sessions.Approval(ctx, id)
			switch {
			case err != nil:
				return nil, err
			case !a.Pending():
				return nil, &store.AnsweredError{Approval: a}
			}
			if c.opensPage(p.caps) {
				return c.approvalLink(a), nil
			}
			return approvalForm(c.offered(a), p.Form, hasty.Load() > 0), nil
		},
		answer: func(ctx context.Context, response mcp.InputResponse, err error, p peer, shown time.Duration) reply {
			if err == nil && c.opensPage(p.caps) {
				return c.opened(id, response)
			}
			if err == nil {
				err = c.answerApproval(ctx, id, response, p.Host, shown > c.reflex)
			}
			var answered *store.AnsweredError
			switch {
			case err == nil, errors.As(err, &answered): // or somebody else was first
				return taken
			case errors.Is(err, errHasty) && hasty.Add(1) <= maxHasty:
				return again
			}
			c.log.Warn("the host's user was not asked: 'worker approvals' can answer", "approval", id, "err", err)
			return unseen
		},
	}
}

// takesForms reports whether a client names form elicitation. One that names no
// mode means forms.
func takesForms(caps *mcp.ClientCapabilities) bool {
	e := caps.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// approvalForm asks for an answer to an approval. again: it was answered too
// soon. Hosts preselect the first answer, which therefore is to deny.
func approvalForm(a *store.Approval, f hosts.Form, again bool) *mcp.ElicitParams {
	text := approvalText(a, f)
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

// formText is what the form of an approval says and offers.
type formText struct {
	message string
	note    string // about the decision
	choices []string
}

// approvalText returns what an approval's form shows. The call stands whole in
// the first line: some hosts show the first rows alone. A rule is added by who
// has seen all of the message, and a call let through by who was sent all of it.
func approvalText(a *store.Approval, f hosts.Form) formText {
	call, arguments := caller.CallText(a)
	first, whole := termtext.Visible(call, maxShown)
	lines := []string{fmt.Sprintf("%s: %s %s", termtext.OneLine(a.Agent, 40), termtext.OneLine(a.Tool, 60), first)}
	arguments, all := termtext.Visible(arguments, maxShown)
	if arguments != "" {
		lines = append(lines, "with "+arguments)
	}
	text := formText{choices: []string{deny}}
	if whole {
		text.choices = append(text.choices, allowOnce)
	}
	if rule, shown := termtext.Visible(strings.Join(a.AlwaysPatterns, ", "), maxShown); whole && all && shown && len(a.AlwaysPatterns) > 0 {
		rule = fmt.Sprintf("%q adds a rule for %s: %s", allowAlways, termtext.OneLine(a.Tool, 60), rule)
		if withRule := slices.Insert(slices.Clone(lines), 1, rule); shows(f, withRule) {
			lines = withRule
			text.choices = append(text.choices, allowAlways)
		}
	}
	text.message = strings.Join(lines, "\n")
	reason, _ := termtext.Visible(a.Reason, 400)
	text.note = fmt.Sprintf("Without an answer it is refused at %s. %s", a.ExpiresAt.Local().Format(time.TimeOnly), reason)
	if !whole || !all || !shows(f, lines) {
		text.note = "Not all of it may be shown: see 'worker approvals list --json'. " + text.note
	}
	return text
}

// shows reports whether the user of a form sees all of these lines.
func shows(f hosts.Form, lines []string) bool {
	rows := 0
	for _, line := range lines {
		width := 0
		for _, r := range line {
			if width++; r >= 0x1100 { // it may take two columns
				width++
			}
		}
		rows += max(1, (width+rowWidth-1)/rowWidth)
	}
	return f.Rows == 0 || rows <= f.Rows
}

// errHasty is the error of a form that was filled in before anybody can have
// read it.
var errHasty = errors.New("the host has accepted the form before anybody can have read it")

// answerApproval takes the host's response to an approval's form. To dismiss
// the form does not answer it. Nor does a response that comes before anybody can
// have seen the form, or one that can't be read.
func (c *connection) answerApproval(ctx context.Context, id string, response mcp.InputResponse, h hosts.Host, seen bool) error {
	form, ok := response.(*mcp.ElicitResult)
	if !ok {
		return fmt.Errorf("the host has answered a form with a %T", response)
	}
	if err := c.identity.Require(caller.Approve); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	answer := store.Answer{By: c.name()}
	switch {
	case form.Action == "accept" && !seen:
		return errHasty
	case form.Action == "accept":
		if err := c.decide(ctx, &answer, id, form.Content, h); err != nil {
			return err
		}
	case form.Action == "decline" && !seen:
		return errors.New("the host declines before anybody can have read the form")
	case form.Action == "decline":
		answer.Feedback = "it was declined in " + c.name() + "."
	default:
		return fmt.Errorf("the host has dismissed the form (%q)", termtext.OneLine(form.Action, 60))
	}
	_, err := c.sessions.Answer(ctx, id, answer)
	return err
}

// decide puts what the form of an approval was filled in with into an answer.
// Only what the form has offered counts.
func (c *connection) decide(ctx context.Context, answer *store.Answer, id string, content map[string]any, h hosts.Host) error {
	a, err := c.sessions.Approval(ctx, id)
	if err != nil {
		return err
	}
	decision, _ := content["decision"].(string)
	if !slices.Contains(approvalText(c.offered(a), h.Form).choices, decision) {
		return fmt.Errorf("the host has sent the form back with the decision %q, which it does not offer", termtext.OneLine(decision, 60))
	}
	switch decision {
	case allowOnce:
		answer.Verdict = store.ApproveOnce
	case allowAlways:
		answer.Verdict = store.ApproveAlways
	case deny:
		reason, _ := content["reason"].(string)
		answer.Feedback = termtext.OneLine(strings.TrimSpace(reason), 2000)
	}
	return nil
}

// answerTime bounds the storing of an answer.
const answerTime = 10 * time.Second
