package main

import (
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
)

// refusedCall is a tool call that the gate has not let through.
type refusedCall struct{ agent, call, why string }

// reportRefusals says at the end of a run which calls were refused, why, and by
// what rule they would be allowed. What is the same is said once.
func (p *program) reportRefusals(refusals []refusedCall) {
	if len(refusals) == 0 {
		return
	}
	word := "call was"
	if len(refusals) > 1 {
		word = "calls were"
	}
	fmt.Fprintf(p.stderr, "%s\n", p.errTerm.paint(yellow, fmt.Sprintf("%d %s refused:", len(refusals), word)))
	said := make(map[refusedCall]bool)
	for _, r := range refusals {
		if said[r] {
			continue
		}
		said[r] = true
		who := termtext.OneLine(r.call, 200)
		if r.agent != "" {
			who = termtext.OneLine(r.agent, 60) + "  " + who
		}
		fmt.Fprintf(p.stderr, "  %s\n", who)
		for line := range strings.SplitSeq(strings.TrimSpace(termtext.Printable(r.why)), "\n") {
			fmt.Fprintf(p.stderr, "    %s\n", line)
		}
	}
}
