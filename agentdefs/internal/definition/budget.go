package definition

import (
	"encoding/json"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/spendlimit"
)

// budget returns what a run may use. What can't be read refuses the file: without its
// budget the agent might use more than its author has meant.
func (p *parser) budget(e agentfile.Entry) *spendlimit.Limits {
	const fix = "write limits, as in budget: {tokens: 200000, cost: 1.50, time: 10m}"
	if e.Node == nil || agentfile.IsNull(e.Node) {
		p.Refuse(diag.BudgetInvalid, e.Line, e.Column, fix, "%s cannot be read, so nothing of this file is served", e.Key)
		return nil
	}
	data, err := jsonOf(e.Node)
	var limits spendlimit.Limits
	if err == nil {
		err = json.Unmarshal(data, &limits)
	}
	if err != nil {
		p.Refuse(diag.BudgetInvalid, e.Line, e.Column, fix, "%s is not a budget (%v), so nothing of this file is served", e.Key, err)
		return nil
	}
	return &limits
}
