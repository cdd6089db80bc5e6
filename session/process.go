package session

import (
	"sync/atomic"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/toolcall"
)

// process is what the sessions of a process share. Its fields do not change.
type process struct {
	journal.Process
	calls    toolcall.Process
	models   *models.Models
	window   func(name string) int64 // of a model, in tokens; nil means of none
	limits   Limits
	paths    permission.Workspace
	totals   totals
	recovery *recovery
	forget   func(id string) // called when a session has ended
}

// Totals are what the sessions of a process have used since it began, without costs that are
// not known.
type Totals struct {
	ModelCalls       int64
	ToolCalls        int64
	InputTokens      int64 // all of the input, cached or not
	OutputTokens     int64
	CacheReadTokens  int64
	CacheWriteTokens int64
	Cost             model.USD
}

// totals counts what sessions use.
type totals struct {
	modelCalls, toolCalls                      atomic.Int64
	input, output, cacheRead, cacheWrite, cost atomic.Int64
}

// add counts a model call.
func (t *totals) add(u model.Usage) {
	t.modelCalls.Add(1)
	t.input.Add(u.InputTokens)
	t.output.Add(u.OutputTokens)
	t.cacheRead.Add(u.CacheReadTokens)
	t.cacheWrite.Add(u.CacheWriteTokens)
	if u.Cost == "" {
		return
	}
	if cost, known := u.Paid(); known {
		t.cost.Add(int64(cost))
	}
}

func (t *totals) sum() Totals {
	return Totals{
		ModelCalls: t.modelCalls.Load(), ToolCalls: t.toolCalls.Load(), InputTokens: t.input.Load(), OutputTokens: t.output.Load(),
		CacheReadTokens: t.cacheRead.Load(), CacheWriteTokens: t.cacheWrite.Load(), Cost: model.USD(t.cost.Load()),
	}
}
