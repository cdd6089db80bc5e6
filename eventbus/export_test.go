package eventbus

import (
	"context"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// SetLinger changes how long new events are read without a live reader. It is called
// before the first one.
func (b *Bus) SetLinger(d time.Duration) { b.fanOut.linger = d }

// PutPayload stores content of a session as that of a large event is stored.
func (b *Bus) PutPayload(ctx context.Context, sessionID string, data []byte) (*event.PayloadRef, error) {
	return b.payloads.put(ctx, sessionID, data)
}
