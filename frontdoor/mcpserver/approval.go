package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/approvalform"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/live"
)

const (
	// maxHasty is how often a form is put again that comes back before anybody can have
	// read it. A client that fills in forms by itself would be asked without end.
	maxHasty = 2

	// answerTime bounds the storing of an answer.
	answerTime = 10 * time.Second
)

// asker makes questions for a connection's host out of what its children wait for.
type asker struct {
	*Server
	root *rootSession

	mu       sync.Mutex
	lastForm time.Time // when the host last sent a form back
}

// shown returns how long each of n forms was shown that were sent at one time and have
// come back now. A host shows one form after the other.
func (k *asker) shown(sent time.Time, n int) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if k.lastForm.After(sent) {
		sent = k.lastForm
	}
	k.lastForm = now
	return now.Sub(sent) / time.Duration(max(1, n))
}

// elsewhere says what is waited for, and how to answer it at another place.
func elsewhere(waits *live.Question) (what, how string) {
	id := waits.ApprovalID
	call, _ := termtext.Visible(waits.Summary(), 200)
	switch {
	case waits.Ask != nil:
		return "an answer", fmt.Sprintf("worker approvals answer %s ANSWER (%s)", id, call)
	case waits.SecondPerson: // the host's user has asked for the work
		return "approval", fmt.Sprintf("the approval %s by a second person, who has not asked for the work, or worker approvals deny %[1]s (%s)", id, call)
	}
	return "approval", fmt.Sprintf("worker approvals approve %s, or deny %[1]s (%s)", id, call)
}

// approval is a tool call, or a question, of a child that waits for an answer, as a question
// for the host's user.
func (k *asker) approval(ev *live.Question) *question {
	id := ev.ApprovalID
	var hasty atomic.Int32 // forms that came back too soon
	var plain atomic.Bool  // the host can't show a choice of several
	what, elsewhere := elsewhere(ev)
	wants := k.mayAnswer
	if ev.SecondPerson {
		wants = func(*mcp.ClientCapabilities) bool { return false }
	}
	return &question{
		id:     id,
		what:   what,
		since:  time.Now(),
		until:  ev.ExpiresAt,
		over:   make(chan struct{}),
		unseen: elsewhere,
		wants:  wants,
		request: func(ctx context.Context, p peer) (mcp.InputRequest, error) {
			a, err := k.opts.Sessions.Approvals.Get(ctx, id)
			switch {
			case err != nil:
				return nil, err
			case !a.Pending():
				return nil, &approval.AnsweredError{Approval: a}
			case k.opensPage(p.caps):
				return approvalform.Link(a, k.opts.Page()), nil
			}
			if a.Ask != nil {
				return approvalform.Question(a, hasty.Load() > 0, plain.Load()), nil
			}
			return approvalform.New(k.offered(a), p.Form, hasty.Load() > 0), nil
		},
		answer: func(ctx context.Context, response mcp.InputResponse, err error, p peer, shown time.Duration) reply {
			switch {
			case err == nil && k.opensPage(p.caps):
				err = readLink(response)
			case err == nil:
				err = k.answer(ctx, id, response, p.Host, shown > k.opts.Reflex)
			}
			var answered *approval.AnsweredError
			var refused *jsonrpc.Error
			switch {
			case ev.Ask != nil && ev.Ask.Multiple && errors.As(err, &refused) && plain.CompareAndSwap(false, true):
				return again
			case err == nil, errors.As(err, &answered): // or somebody else was first
				return settled
			case errors.Is(err, errHasty) && hasty.Add(1) <= maxHasty:
				return again
			}
			k.opts.Logger.Warn("the host's user was not asked: 'worker approvals' can answer", "approval", id, "err", err)
			return unseen
		},
	}
}

// mayAnswer reports whether the host is asked about approvals.
func (k *asker) mayAnswer(caps *mcp.ClientCapabilities) bool {
	return k.root.identity.May(caller.Approve) && (showsForms(caps) || k.opensPage(caps))
}

// showsForms reports whether a client names form elicitation. One that names no
// mode means forms.
func showsForms(caps *mcp.ClientCapabilities) bool {
	e := caps.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil)
}

// opensPage reports whether a client opens an address for its user, and the user may see
// the page. The page shows all of a call, where a form may not.
func (k *asker) opensPage(caps *mcp.ClientCapabilities) bool {
	return k.root.identity.May(caller.Owner) && caps != nil && caps.Elicitation != nil && caps.Elicitation.URL != nil && k.opts.Page != nil && k.opts.Page() != ""
}

// offered is an approval as the host is asked about it: only the owner may add a rule.
func (k *asker) offered(a *approval.Approval) *approval.Approval {
	if k.root.identity.May(caller.Owner) {
		return a
	}
	once := *a
	once.AlwaysPatterns = nil
	return &once
}

// readLink returns an error unless the user has opened an approval's link. To open it is
// no answer, which comes from the page.
func readLink(response mcp.InputResponse) error {
	link, ok := response.(*mcp.ElicitResult)
	switch {
	case !ok:
		return fmt.Errorf("the host has answered a link with a %T", response)
	case link.Action != "accept":
		return errors.New("the host has not opened the page")
	}
	return nil
}

// errHasty is the error of a form that was filled in before anybody can have
// read it.
var errHasty = errors.New("the host has accepted the form before anybody can have read it")

// answer stores what the host has answered to an approval's form. A form that is dismissed
// has no answer. Nor has a response that comes before anybody can have seen the form, or
// one that can't be read.
func (k *asker) answer(ctx context.Context, id string, response mcp.InputResponse, h hosts.Host, seen bool) error {
	form, ok := response.(*mcp.ElicitResult)
	if !ok {
		return fmt.Errorf("the host has answered a form with a %T", response)
	}
	if err := k.root.identity.Require(caller.Approve); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	answer := approval.Answer{By: k.root.name()}
	switch {
	case form.Action == "accept" && !seen:
		return errHasty
	case form.Action == "accept":
		a, err := k.opts.Sessions.Approvals.Get(ctx, id)
		if err == nil {
			err = approvalform.Read(&answer, k.offered(a), h.Form, form.Content)
		}
		if err != nil {
			return err
		}
	case form.Action == "decline" && !seen:
		return errors.New("the host declines before anybody can have read the form")
	case form.Action == "decline":
		answer.Feedback = "it was declined in " + k.root.name() + "."
	default:
		return fmt.Errorf("the host has dismissed the form (%q)", termtext.OneLine(form.Action, termtext.MaxName))
	}
	_, err := k.opts.Sessions.Approvals.Answer(ctx, id, answer)
	return err
}
