package shell

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/permission"

	"github.com/agentworker/worker/permission/internal/program"
)

// spellings adds other ways to write a command, which a rule may mean. They
// lack the folder of the program or the options before a subcommand, or have
// the flags in another order, bundled or not. They can only deny.
func (a *analysis) spellings(p *program.Program, v argv) {
	name := commandName(v)
	if name == "" {
		return
	}
	own := v.line()
	add := func(words ...string) {
		if line := strings.Join(words, " "); line != own {
			a.add(permission.Value{Tool: a.tool, Text: line, Kind: permission.Spelling})
		}
	}
	words := []string{name}
	certain := true
	for _, t := range v[1:] {
		if certain && !t.known { // the rest of the line may be anything
			certain = false
			begin := strings.Join(append(words, t.s[:min(max(t.prefix, 0), len(t.s))]), " ")
			a.add(permission.Value{Tool: a.tool, Text: begin, Kind: permission.Spelling, Certainty: permission.Unknown})
		}
		words = append(words, t.s)
	}
	add(words...)
	add(append(slices.Clone(words), "")...) // "git push *" is about "git push", too
	p.Spellings(words, add)
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
