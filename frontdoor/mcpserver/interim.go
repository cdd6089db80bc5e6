package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/session/record"
)

// minShare is, in characters, the least of an answer that is worth a place in a
// list.
const minShare = 500

// overview answers with the wanted children that run, and with the ended ones and their
// answers, which it delivers. If all children are wanted, it leaves out the answers that a
// call has delivered.
func (c *children) overview(req *mcp.CallToolRequest, want wanted) *mcp.CallToolResult {
	running, over := c.list(len(want.ids) > 0)
	if len(want.ids) > 0 {
		running = slices.DeleteFunc(running, func(child *child) bool { return !want.has(child.SessionID()) })
		over = slices.DeleteFunc(over, func(e endedChild) bool { return !slices.Contains(want.ids, e.id) })
		over = append(over, c.forgotten(want, running, over)...)
	}
	if len(running)+len(over) == 0 {
		if _, over = c.list(true); len(over) == 0 {
			return toolcall.Text("No call of " + toolcall.Task + " was made on this connection.")
		}
	}
	limit := c.host(req.ClientInfo()).Text
	if limit.Max > 0 {
		limit.Max = limit.Max/(len(running)+len(over)) - 200 // for its line
	}
	var list, answers strings.Builder
	fmt.Fprintf(&list, "%d subagents run, %d have ended:\n", len(running), len(over))
	for _, child := range running {
		fmt.Fprintf(&list, "- %s, session %s: runs, for %s%s\n", child.Agent(), child.SessionID(), child.age(), doing(child.progress))
	}
	for _, e := range over {
		line := fmt.Sprintf("- %s, session %s: %s", e.agent, e.id, e.status)
		result, err := c.result(e.id)
		switch {
		case err != nil:
			line += "; " + err.Error()
		case e.delivered || limit.Max != 0 && limit.Max < minShare:
			line += fmt.Sprintf("; %s has its answer", toolcall.TaskResult)
		default:
			text, _ := toolcall.Truncate(result, limit)
			answers.WriteString(text + "\n")
			line += "; its answer is below"
			c.deliver(c.root.ctx, result)
		}
		list.WriteString(line + "\n")
	}
	return toolcall.Text(strings.TrimSpace(list.String() + answers.String()))
}

// forgotten returns those of the wanted children that are not among the others: they have
// ended long ago.
func (c *children) forgotten(want wanted, running []*child, over []endedChild) (more []endedChild) {
	for _, id := range want.ids {
		if slices.ContainsFunc(running, func(child *child) bool { return record.SameConversation(id, child.SessionID()) }) ||
			slices.ContainsFunc(over, func(e endedChild) bool { return e.id == id }) {
			continue
		}
		if result, err := c.result(id); err == nil {
			more = append(more, endedChild{id: id, agent: result.Agent, status: result.Status})
		}
	}
	return more
}

// goesOn answers a call whose child has not ended. The call that it asks for differs
// from the one before: hosts end a turn of equal calls.
func (c *children) goesOn(req *mcp.CallToolRequest, on *group) *mcp.CallToolResult {
	age := on.children[0].age()
	if on.id == "" {
		res := c.overview(req, on.want)
		again := fmt.Sprintf(`{%s"attempt": %d, "sinceSeconds": %d}`, on.want.arguments(), c.attempts.Add(1), int(age.Seconds()))
		res.Content = append(res.Content, &mcp.TextContent{Text: waitingFor(on.progress) + howToWait(again)})
		res.Meta = mcp.Meta{"status": record.Running}
		return res
	}
	child := on.children[0]
	again := fmt.Sprintf(`{"sessionId": %q, "attempt": %d, "sinceSeconds": %d}`, on.id, child.attempts.Add(1), int(age.Seconds()))
	res := toolcall.Text(fmt.Sprintf("The subagent %s goes on in session %s, after %s. This is not its answer yet%s\n",
		child.Agent(), on.id, age, doing(child.progress)) + waitingFor(child.progress) + howToWait(again))
	res.Meta = mcp.Meta{"sessionId": on.id, "status": record.Running, "durationMs": age.Milliseconds()}
	return res
}

func howToWait(args string) string {
	return fmt.Sprintf("To get the answer, call %s with %s, again if need be with what that answer says. It runs meanwhile: do other work first if there is some. %s stops it.",
		toolcall.TaskWait, args, toolcall.TaskStop)
}

// doing returns what was heard of a child last.
func doing(f *childProgress) string {
	if last, _ := f.last(); last != "" {
		return ". Just now: " + last + "."
	}
	return "."
}

// waitingFor returns which approvals are waited for.
func waitingFor(f *childProgress) string {
	var b strings.Builder
	for _, q := range f.since(0).questions {
		if q.unseen != "" {
			b.WriteString("It waits for " + q.what + ": " + q.unseen + ". Tell the user to run that in a terminal.\n")
		}
	}
	return b.String()
}
