package acpserver

import (
	"regexp"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
)

// planStatuses are those of the protocol for those of a list.
var planStatuses = map[string]acp.PlanEntryStatus{
	event.TodoPending:    acp.PlanEntryStatusPending,
	event.TodoInProgress: acp.PlanEntryStatusInProgress,
	event.TodoDone:       acp.PlanEntryStatusCompleted,
}

// todoPlan shows a to-do list.
func todoPlan(todo event.Todo) acp.SessionUpdate {
	entries := []acp.PlanEntry{}
	for _, item := range todo.Items {
		status, ok := planStatuses[item.Status]
		if !ok {
			status = acp.PlanEntryStatusPending
		}
		entries = append(entries, acp.PlanEntry{Content: item.Text, Status: status, Priority: acp.PlanEntryPriorityMedium})
	}
	return acp.UpdatePlan(entries...)
}

// maxPlan bounds the entries of a plan.
const maxPlan = 100

// listItem matches an item of a list in Markdown that is not within another one.
var listItem = regexp.MustCompile(`^ ?(?:[-*+]|\d+[.)]) +(.+)`)

// textPlan shows a plan in Markdown: the items of its lists, else its lines.
func textPlan(plan event.Plan) acp.SessionUpdate {
	var items, lines []string
	for line := range strings.Lines(plan.Text) {
		if m := listItem.FindStringSubmatch(line); m != nil {
			items = append(items, strings.TrimSpace(m[1]))
		}
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(items) == 0 {
		items = lines
	}
	entries := []acp.PlanEntry{}
	for _, text := range items[:min(len(items), maxPlan)] {
		entries = append(entries, acp.PlanEntry{Content: text, Status: acp.PlanEntryStatusPending, Priority: acp.PlanEntryPriorityMedium})
	}
	return acp.UpdatePlan(entries...)
}
