package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/session/store"
)

// minShare is, in characters, the least of an answer that is worth a place in a
// list.
const minShare = 500

// listChildren lists the children that run, and those that have ended with their
// answers, unless a call had these for its result: those of these ids, or all.
func (c *connection) listChildren(req *mcp.CallToolRequest, ids []string) *mcp.CallToolResult {
	running, over := c.family(len(ids) > 0)
	if len(ids) > 0 {
		running = slices.DeleteFunc(running, func(child *child) bool { return !named(ids, child.SessionID()) })
		over = slices.DeleteFunc(over, func(e ended) bool { return !slices.Contains(ids, e.id) })
		over = append(over, c.forgotten(ids, running, over)...)
	}
	if len(running)+len(over) == 0 {
		if _, over = c.family(true); len(over) == 0 {
			return textResult("No call of " + taskName + " was made on this connection.")
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
		result, err := c.stored(e.id)
		switch {
		case err != nil:
			line += "; " + err.Error()
		case e.told || limit.Max != 0 && limit.Max < minShare:
			line += fmt.Sprintf("; %s has its answer", taskResultName)
		default:
			text, _ := truncateResult(result, limit)
			answers.WriteString(text + "\n")
			line += "; its answer is below"
			c.hand(c.ctx, result)
		}
		list.WriteString(line + "\n")
	}
	return textResult(strings.TrimSpace(list.String() + answers.String()))
}

// named reports whether a session, or one that it goes on with, is among those of
// these ids.
func named(ids []string, sessionID string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return store.SameRuns(id, sessionID) })
}

// forgotten returns those of the children of these ids that are not among the
// others: they have ended long ago.
func (c *connection) forgotten(ids []string, running []*child, over []ended) (more []ended) {
	for _, id := range ids {
		if slices.ContainsFunc(running, func(child *child) bool { return store.SameRuns(id, child.SessionID()) }) ||
			slices.ContainsFunc(over, func(e ended) bool { return e.id == id }) {
			continue
		}
		if result, err := c.stored(id); err == nil {
			more = append(more, ended{id: id, agent: result.Agent, status: result.Status})
		}
	}
	return more
}

// doing says what was heard of a child last.
func doing(f *childProgress) string {
	if last, _ := f.last(); last != "" {
		return ". Just now: " + last + "."
	}
	return "."
}

// goesOn is the answer to a call whose child has not ended. The call that it
// asks for differs from the one before: hosts end a turn of equal calls.
func (c *connection) goesOn(req *mcp.CallToolRequest, on *waited) *mcp.CallToolResult {
	if on.id == "" {
		res := c.listChildren(req, on.want.ids)
		c.mu.Lock()
		c.attempts++
		attempt := c.attempts
		c.mu.Unlock()
		again := fmt.Sprintf(`{%s"attempt": %d, "sinceSeconds": %d}`, on.want.again(), attempt, int(on.children[0].age().Seconds()))
		res.Content = append(res.Content, &mcp.TextContent{Text: awaited(on.progress) + howToWait(again)})
		res.Meta = mcp.Meta{"status": store.Running}
		return res
	}
	child := on.children[0]
	c.mu.Lock()
	child.attempts++
	attempt := child.attempts
	c.mu.Unlock()
	age := child.age()
	again := fmt.Sprintf(`{"sessionId": %q, "attempt": %d, "sinceSeconds": %d}`, on.id, attempt, int(age.Seconds()))
	res := textResult(fmt.Sprintf("The subagent %s goes on in session %s, after %s. This is not its answer yet%s\n",
		child.Agent(), on.id, age, doing(child.progress)) + awaited(child.progress) + howToWait(again))
	res.Meta = mcp.Meta{"sessionId": on.id, "status": store.Running, "durationMs": age.Milliseconds()}
	return res
}

// again is the beginning of the arguments with which a call is made again.
func (w wanted) again() string {
	var b strings.Builder
	if len(w.ids) > 0 {
		fmt.Fprintf(&b, `"sessionIds": ["%s"], `, strings.Join(w.ids, `", "`))
	}
	if w.any {
		b.WriteString(`"until": "any", `)
	}
	return b.String()
}

func howToWait(args string) string {
	return fmt.Sprintf("To get the answer, call %s with %s, again if need be with what that answer says. It runs meanwhile: do other work first if there is some. %s stops it.",
		taskWaitName, args, taskStopName)
}

// awaited says which approvals are waited for.
func awaited(f *childProgress) string {
	var b strings.Builder
	for _, q := range f.since(0).questions {
		if q.unseen != "" {
			b.WriteString("It waits for approval: " + q.unseen + ". Tell the user to run that in a terminal.\n")
		}
	}
	return b.String()
}
