package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/session"
)

// The answers that the form of an approval offers.
const (
	allowOnce   = "allow once"
	allowAlways = "allow always"
	deny        = "deny"
)

// Bounds of what a form shows of a call: it has less room than a terminal.
const (
	maxShown    = 2000 // characters of one text
	maxShownAll = 20   // texts
)

// approval is a tool call of a child that waits for an answer, as a question
// for the host's user.
func (c *connection) approval(ev *eventbus.ToolApprovalRequired) *question {
	id := ev.ApprovalID
	var asked atomic.Int64 // when, the last time
	return &question{
		id:    id,
		until: ev.ExpiresAt,
		over:  make(chan struct{}),
		wants: takesForms,
		request: func(ctx context.Context) (mcp.InputRequest, error) {
			a, err := c.sessions.Approval(ctx, id)
			switch {
			case err != nil:
				return nil, err
			case !a.Pending():
				return nil, &session.AnsweredError{Approval: a}
			}
			asked.Store(time.Now().UnixNano())
			return approvalForm(a), nil
		},
		answer: func(ctx context.Context, response mcp.InputResponse, err error) {
			if err == nil {
				seen := time.Since(time.Unix(0, asked.Load())) > c.reflex
				err = c.answerApproval(ctx, id, response, seen)
			}
			var answered *session.AnsweredError
			switch {
			case errors.As(err, &answered): // somebody else was first
			case err != nil:
				c.log.Warn("the host's user was not asked: 'worker approvals' can answer", "approval", id, "err", err)
			}
		},
	}
}

// takesForms reports whether a client names form elicitation. One that names no
// mode means forms.
func takesForms(caps *mcp.ClientCapabilities) bool {
	e := caps.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// approvalForm asks for an answer to an approval.
func approvalForm(a *session.Approval) *mcp.ElicitParams {
	message, choices := approvalText(a)
	return &mcp.ElicitParams{
		Mode:    "form",
		Message: message,
		RequestedSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
			`"decision":{"type":"string","title":"Decision","enum":%s},`+
			`"reason":{"type":"string","title":"Reason","description":"why not: the subagent reads it","maxLength":2000}},`+
			`"required":["decision"]}`, enum(choices))),
	}
}

// approvalText returns what an approval's form shows, and the answers that it
// offers: a rule is added by who has seen all of it alone.
func approvalText(a *session.Approval) (message string, choices []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "The subagent %s asks to call %s, which wants\n", eventbus.OneLine(a.Agent, 60), eventbus.OneLine(a.Tool, 60))
	whole := eventbus.VisibleLines(&b, a.Patterns, maxShown, maxShownAll)
	choices = []string{allowOnce}
	if whole && len(a.AlwaysPatterns) > 0 {
		fmt.Fprintf(&b, "%q adds to permissions.jsonc, for %s:\n", allowAlways, eventbus.OneLine(a.Tool, 60))
		if eventbus.VisibleLines(&b, a.AlwaysPatterns, maxShown, maxShownAll) {
			choices = append(choices, allowAlways)
		}
	}
	reason, _ := eventbus.Visible(a.Reason, 400) // last: Claude Code's screen shows the first lines alone
	b.WriteString(reason + "\n")
	fmt.Fprintf(&b, "Without an answer it is refused at %s.", a.ExpiresAt.Local().Format(time.TimeOnly))
	return b.String(), append(choices, deny)
}

func enum(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = fmt.Sprintf("%q", v)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// answerApproval takes the host's response to an approval's form. To dismiss
// the form is no answer, nor is to decline it before anybody can have seen it;
// what can't be read is none either.
func (c *connection) answerApproval(ctx context.Context, id string, response mcp.InputResponse, seen bool) error {
	form, ok := response.(*mcp.ElicitResult)
	if !ok {
		return fmt.Errorf("the host has answered a form with a %T", response)
	}
	if form.Action != "accept" && form.Action != "decline" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	answer := session.Answer{By: c.name()}
	if form.Action == "decline" {
		if !seen {
			return errors.New("the host declines before anybody can have read the form")
		}
		answer.Feedback = "it was declined in " + c.name() + "."
	} else if err := c.decide(ctx, &answer, id, form.Content); err != nil {
		return err
	}
	_, err := c.sessions.Answer(ctx, id, answer)
	return err
}

// decide puts what the form of an approval was filled in with into an answer.
// Only what the form has offered counts.
func (c *connection) decide(ctx context.Context, answer *session.Answer, id string, content map[string]any) error {
	a, err := c.sessions.Approval(ctx, id)
	if err != nil {
		return err
	}
	decision, _ := content["decision"].(string)
	if _, choices := approvalText(a); !slices.Contains(choices, decision) {
		return fmt.Errorf("the host has sent the form back with the decision %q, which it does not offer", eventbus.OneLine(decision, 60))
	}
	switch decision {
	case allowOnce:
		answer.Verdict = session.ApproveOnce
	case allowAlways:
		answer.Verdict = session.ApproveAlways
	case deny:
		reason, _ := content["reason"].(string)
		answer.Feedback = eventbus.OneLine(strings.TrimSpace(reason), 2000)
	}
	return nil
}

// answerTime bounds the storing of an answer.
const answerTime = 10 * time.Second
