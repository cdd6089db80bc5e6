package eventbus

import (
	"context"
	"errors"
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

// QueueBehindRefused queues entries and the end of a session, then an entry of another
// publisher, as for a cluster. The first publisher is refused before anything is sent.
func QueueBehindRefused(ctx context.Context, refused, other *Publisher) error {
	w := refused.writer
	w.mu.Lock()
	w.cluster, w.sending = true, true
	w.mu.Unlock()
	err := errors.Join(refused.Publish(ctx, event.Usage{}), refused.Publish(ctx, event.Usage{}), refused.putEnd(ctx, event.SessionEnd{Status: "completed"}), other.Publish(ctx, event.Usage{}))
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = refused.end(ErrEnded)
	w.sending = false
	w.pump()
	return err
}
