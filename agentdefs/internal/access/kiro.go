package access

import (
	"slices"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/permission"
)

// PreapprovedID names Kiro's allowedTools: of the tools of the agent, the ones
// that nobody is asked about.
const PreapprovedID = ExactID

// Preapprove tells Kiro's allowedTools from another spelling of tools.
func (p *Reader) Preapprove(in []agentfile.Entry) {
	if !p.Dialect.Asks || !slices.ContainsFunc(in, func(e agentfile.Entry) bool { return e.Field.ID == "tools" && e.Key == "tools" }) {
		return
	}
	for i := range in {
		if spelling.Canonical(in[i].Key) == "allowedtools" {
			in[i].Field, in[i].Misspelled = p.Fields.Field(PreapprovedID), false
		}
	}
}

// asked turns the listed tools into rules that ask. Tools that the file approves
// beforehand stay allowed.
func (p *Reader) asked(listed []Clause, preapproved *agentfile.Entry) []Clause {
	var approved []permission.Rule
	if preapproved != nil {
		specs, _ := p.toolList(*preapproved, false)
		for _, s := range specs {
			if _, kind := dialect.LookUp(s.name); kind == dialect.OwnTool || kind == dialect.MCPTool {
				approved = append(approved, p.allow(s, specs)...)
			}
		}
	}
	out := make([]Clause, 0, len(listed))
	for _, c := range listed {
		var rules, after Clause
		for _, r := range c {
			if r.Action == permission.Allow {
				r.Action = permission.Ask
				for _, a := range approved {
					if Covers(r.Tool, a.Tool) && Covers(r.Pattern, a.Pattern) {
						after = append(after, a)
					}
				}
			}
			rules = append(rules, r)
		}
		out = append(out, append(rules, after...))
	}
	return out
}
