package session

import (
	"sync/atomic"

	"github.com/agentworker/worker/model"
)

// Totals are what the sessions of a process have used since it began. Costs that are not
// known are not in them.
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
	modelCalls, toolCalls                             atomic.Int64
	input, output, cacheRead, cacheWrite, costUSDNano atomic.Int64
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
		t.costUSDNano.Add(int64(cost))
	}
}

// Totals returns what the sessions of this process have used.
func (m *Manager) Totals() Totals {
	t := &m.totals
	return Totals{
		ModelCalls: t.modelCalls.Load(), ToolCalls: t.toolCalls.Load(), InputTokens: t.input.Load(), OutputTokens: t.output.Load(),
		CacheReadTokens: t.cacheRead.Load(), CacheWriteTokens: t.cacheWrite.Load(), Cost: model.USD(t.costUSDNano.Load()),
	}
}

// Running returns how many sessions run in this process, by their agents. Sessions that
// stand for callers are under the empty name.
func (m *Manager) Running() map[string]int {
	m.mu.Lock()
	live := make([]*Session, 0, len(m.live))
	for _, s := range m.live {
		live = append(live, s)
	}
	m.mu.Unlock()
	agents := make(map[string]int)
	for _, s := range live {
		if r := s.Record(); !r.Status.Ended() {
			agents[r.Agent]++
		}
	}
	return agents
}
