package listing

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/toolcall"
	"github.com/agentworker/worker/taskt"
)

// maxDescription is where Claude Code cuts a tool's text, in UTF-16 units.
const maxDescription = 4096

// shortened is the last line of a text that does not say all.
const shortened = "The descriptions are shortened: " + toolcall.AgentsList + " has them whole.\n"

// truncateDescriptions returns the task tool's text within maxDescription. The
// agents' descriptions share the budget equally, and the long ones also get what the
// short ones leave. If not even the names fit, the last ones are left out;
// agents_list has them all, and so does the schema's enum if it has one.
func truncateDescriptions(text string, agents []taskt.Agent) string {
	if units(text) <= maxDescription {
		return text
	}
	head, _, _ := strings.Cut(text, "\n- ")
	budget := maxDescription - units(head+"\n"+shortened)
	lines := make([]taskt.Agent, 0, len(agents))
	for _, a := range agents {
		a = taskt.Agent{Name: a.Name, Description: strings.Join(strings.Fields(a.Description), " ")}
		if cost := units(line(a.Name, "")); cost <= budget-units(more(len(agents))) {
			budget -= cost
			lines = append(lines, a)
			continue
		}
		break
	}
	rest := len(agents) - len(lines)
	if rest > 0 {
		budget -= units(more(rest))
	}
	limit := fairShare(lines, budget)
	var b strings.Builder
	b.WriteString(head + "\n")
	for _, a := range lines {
		b.WriteString(line(a.Name, truncate(a.Description, limit)))
	}
	if rest > 0 {
		b.WriteString(more(rest))
	}
	b.WriteString(shortened)
	return b.String()
}

func line(name, description string) string { return "- " + name + ": " + description + "\n" }

func more(n int) string { return fmt.Sprintf("- and %d more\n", n) }

// fairShare returns the greatest length at which all descriptions, none longer
// than it, fit into budget.
func fairShare(agents []taskt.Agent, budget int) int {
	fits := func(limit int) bool {
		sum := 0
		for _, a := range agents {
			sum += min(units(a.Description), limit)
		}
		return sum <= budget
	}
	low, high := 0, maxDescription // fits(low) holds, high is past all
	for low < high {
		if mid := (low + high + 1) / 2; fits(mid) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// truncate shortens s to limit units, at the end of a word if possible.
func truncate(s string, limit int) string {
	if units(s) <= limit {
		return s
	}
	if limit < 1 {
		return ""
	}
	end, used := 0, 1 // one for the ellipsis
	for i, r := range s {
		if used += utf16.RuneLen(r); used > limit {
			end = i
			break
		}
	}
	if space := strings.LastIndexByte(s[:end], ' '); space > end/2 {
		end = space
	}
	return strings.TrimRight(s[:end], " ,.;:") + "…"
}

// units counts UTF-16 units, as hosts written in JavaScript do.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
