package progress

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// Refusal is a tool call that the gate has not let through.
type Refusal struct {
	Agent, SessionID string // empty means the caller's
	Call             event.ToolCallStart
	Why              string // as the model was told
	Rule             string // as in [event.ToolCallEnd]
}

// said is what is said of a refusal.
type said struct{ agent, call, why string }

// WriteRefusals says at the end of a run which calls were refused, why, and by
// what rule they would be allowed. What is the same is said once.
func WriteRefusals(w io.Writer, on terminal.Output, refusals []Refusal) {
	if len(refusals) == 0 {
		return
	}
	fmt.Fprintf(w, "%s\n", on.Paint(terminal.Yellow, termtext.Plural(len(refusals), "call was", "calls were")+" refused:"))
	before := make(map[said]bool)
	for _, r := range refusals {
		r := said{r.Agent, r.Call.Summary(), r.Why}
		if before[r] {
			continue
		}
		before[r] = true
		who := termtext.OneLine(r.call, termtext.MaxLabel)
		if r.agent != "" {
			who = termtext.OneLine(r.agent, termtext.MaxName) + "  " + who
		}
		fmt.Fprintf(w, "  %s\n", who)
		for line := range strings.SplitSeq(strings.TrimSpace(termtext.Printable(r.why)), "\n") {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
}
