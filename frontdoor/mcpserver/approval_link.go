package mcpserver

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/session/store"
)

// opensPage reports whether a client opens an address for its user, and there is a page
// that this user gets to see: it shows all of a call, where a form may not.
func (c *connection) opensPage(caps *mcp.ClientCapabilities) bool {
	return c.identity.May(caller.Owner) && caps != nil && caps.Elicitation != nil && caps.Elicitation.URL != nil && c.page != nil && c.page() != ""
}

// approvalLink sends the user to an approval on the page. The address lets nobody in: the
// page wants its user to have logged in.
func (c *connection) approvalLink(a *store.Approval) *mcp.ElicitParams {
	call, _, _ := strings.Cut(approvalText(a, hosts.Unknown.Form).message, "\n")
	return &mcp.ElicitParams{
		Mode:          "url",
		Message:       call + "\nAllow or deny it on the page. 'worker page' prints a link that logs a browser in.",
		URL:           c.page() + "/sessions/" + url.PathEscape(a.SessionID),
		ElicitationID: a.ID,
	}
}

// opened takes what a user has made of an approval's link. To open it is no answer: that
// comes from the page. Nor is not to open it.
func (c *connection) opened(id string, response mcp.InputResponse) reply {
	form, ok := response.(*mcp.ElicitResult)
	if ok && form.Action == "accept" {
		return taken
	}
	err := errors.New("the host has not opened the page")
	if !ok {
		err = fmt.Errorf("the host has answered a link with a %T", response)
	}
	c.log.Warn("the host's user was not asked: 'worker approvals' can answer", "approval", id, "err", err)
	return unseen
}
