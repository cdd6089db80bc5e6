// Package presence tells the processes of a workspace whether somebody who may answer
// approvals is connected to one of them.
package presence

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/termtext"
)

const (
	// answerTimeout bounds [Find], where a process listens but does not answer.
	answerTimeout = 2 * time.Second

	// maxWhere bounds what [Find] returns, in bytes.
	maxWhere = 200
)

// subject is where a process that has somebody says so.
func subject(workspace string) string { return "agents.v1." + workspace + ".workers.answering" }

// Find returns where somebody who may answer is connected, such as "worker top". It returns
// "" if nobody is, or if that can't be found out within 2 s.
func Find(ctx context.Context, bus *eventbus.Bus) string {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	where, err := bus.Store().Ask(ctx, subject(bus.Workspace()), nil)
	if err != nil { // nats.ErrNoResponders, mostly
		return ""
	}
	return termtext.Printable(string(where[:min(len(where), maxWhere)]))
}

// Door counts those who are connected to a door of this process and may answer. It is safe
// for concurrent use.
type Door struct {
	bus *eventbus.Bus

	mu    sync.Mutex
	count map[string]int // by where they are
	sub   *nats.Subscription
}

// NewDoor returns a door of a process of the bus's workspace, with nobody at it.
func NewDoor(bus *eventbus.Bus) *Door { return &Door{bus: bus, count: map[string]int{}} }

// Enter counts somebody until leave is called. where names the place to people.
func (d *Door) Enter(where string) (leave func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sub == nil {
		if d.sub, err = d.bus.Conn().Subscribe(subject(d.bus.Workspace()), d.answer); err != nil {
			return func() {}, err
		}
	}
	d.count[where]++
	return sync.OnceFunc(func() { d.leave(where) }), nil
}

func (d *Door) leave(where string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count[where]--; d.count[where] == 0 {
		delete(d.count, where)
	}
	if len(d.count) == 0 {
		_ = d.sub.Unsubscribe() // an error means the connection is closed, so nothing listens
		d.sub = nil
	}
}

// answer answers a [Find].
func (d *Door) answer(msg *nats.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for where := range d.count {
		_ = msg.Respond([]byte(where)) // without an answer, nobody is there
		return
	}
}
