package toolcall

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// Text is a result that consists of a text.
func Text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Refusal is the result of a call that can't be made. The model reads why.
func Refusal(err error) *mcp.CallToolResult {
	res := Text(errtext.Of(err))
	res.IsError = true
	return res
}

// Failure is the result of a task call that has started no child.
func Failure(agent string, err error) *taskt.Result {
	return &taskt.Result{Agent: agent, Status: record.Failed, Text: errtext.Of(err), Err: err}
}

// Result returns a child's result as its host takes it. The text holds all that the model
// has to read, and there is no structured content: some hosts show the model only the text,
// and others only structured content.
func Result(r *taskt.Result, limit hosts.Size) *mcp.CallToolResult {
	text, cut := Truncate(r, limit)
	res := Text(text)
	res.IsError = r.Err != nil
	res.Meta = mcp.Meta{"status": r.Status, "usage": r.Record.Usage, "durationMs": r.Duration.Milliseconds()}
	optional := func(key string, value any, has bool) {
		if has {
			res.Meta[key] = value
		}
	}
	report, notes := r.Assess()
	optional("stopReason", r.StopReason(), r.StopReason() != "")
	optional("total", r.Record.Total, r.Record.Total != nil)
	optional("sessionId", r.SessionID, r.SessionID != "")
	optional("model", r.Record.Model, r.Record.Model != "")
	optional("label", r.Record.Label, r.Record.Label != "")
	optional("metadata", r.Record.Metadata, r.Record.Metadata != nil)
	optional("warnings", r.Record.Warnings, r.Record.Warnings != nil)
	optional("worktree", r.Record.Worktree, r.Record.Worktree != nil)
	optional("work", r.Record.Work, !r.Record.Work.IsZero())
	optional("report", report, report != nil)
	optional("notes", notes, len(notes) > 0)
	optional("truncated", true, cut)
	return res
}

// Page returns a part of a text, as long as the host takes it.
func Page(page *control.Page, limit hosts.Size) string {
	text := page.Answer()
	if limit.Fits(text) {
		return text
	}
	of := func(budget int) string { return page.With(hosts.HeadOf(page.Text, budget, limit)).Answer() }
	over := sort.Search(limit.Max-minPage, func(i int) bool { return !limit.Fits(of(minPage + 1 + i)) })
	return of(minPage + over)
}

// minPage is the least of a text that is worth a call, in characters.
const minPage = 64

// Agents lists agents from offset on, and where the list continues. It has as many as
// the host takes, and at least one. It is a JSON object, since Gemini CLI takes no array.
func Agents(agents []taskt.Agent, offset int, limit hosts.Size) (string, error) {
	var b strings.Builder
	b.WriteString(`{"agents": [`)
	for i, agent := range agents[offset:] {
		text, err := json.MarshalIndent(agent, " ", " ")
		if err != nil {
			return "", fmt.Errorf("listing the agents: %w", err)
		}
		item := "\n " + string(text)
		if i > 0 {
			item = "," + item
		}
		if i > 0 && !limit.Fits(b.String()+item+endOfList(offset+i+1, len(agents))) {
			return b.String() + endOfList(offset+i, len(agents)), nil
		}
		b.WriteString(item)
	}
	return b.String() + endOfList(len(agents), len(agents)), nil
}

// endOfList ends a list of agents that goes up to end.
func endOfList(end, all int) string {
	if end == all {
		return "\n]}"
	}
	return fmt.Sprintf("\n], \"total\": %d, \"nextOffset\": %d}", all, end)
}
