package session

import (
	"sync"
	"sync/atomic"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/toolcall"
	"github.com/agentworker/worker/tool/commands"
)

// process is what the sessions of a process share. Its fields do not change.
type process struct {
	journal.Process
	calls    toolcall.Process
	models   *models.Models
	window   func(name string) int64 // of a model, in tokens; nil means of none
	trained  func(name string) bool  // as in [Options]; nil means none is
	limits   Limits
	reviewer *Helper // judges calls that rules ask about; nil means nobody does
	masks    bool    // as in [Options.MaskForModel]
	paths    permission.Workspace
	totals   totals
	commands *commands.Table // that go on in the background
	recovery *recoverer
	holding  atomic.Bool     // sessions are about to be handed over: see [Manager.HandOver]
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

// totals counts what sessions use. It is safe for concurrent use.
type totals struct {
	mu  sync.Mutex
	sum Totals
}

// add counts a model call.
func (t *totals) add(u model.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.ModelCalls++
	t.sum.InputTokens += u.InputTokens
	t.sum.OutputTokens += u.OutputTokens
	t.sum.CacheReadTokens += u.CacheReadTokens
	t.sum.CacheWriteTokens += u.CacheWriteTokens
	if cost, known := u.Paid(); known {
		t.sum.Cost += cost
	}
}

// addToolCall counts a tool call.
func (t *totals) addToolCall() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.ToolCalls++
}
