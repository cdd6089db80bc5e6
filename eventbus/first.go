package eventbus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
)

// PublishFirst stores a session's start, and waits. It does nothing where it is stored.
// Several processes may store it for a session whose own process has exited: one succeeds.
func (p *Publisher) PublishFirst(ctx context.Context, ev event.SessionStart) error {
	data, err := p.message(ctx, ev)
	if err != nil {
		return err
	}
	return p.first(ctx, p.subjectOf(ev), data)
}

// AppendFirst is [Publisher.PublishFirst] for the first entry of all that
// [Publisher.Append] stores.
func (p *Publisher) AppendFirst(ctx context.Context, kind string, data json.RawMessage) error {
	data, err := p.content(ctx, kind, data)
	if err != nil {
		return err
	}
	return p.first(ctx, p.entrySubject, data)
}

func (p *Publisher) first(ctx context.Context, subject string, data []byte) error {
	id := p.sessionID + "." + rand.Text()[:8] + ".1" // the only one of a publisher of its own
	_, err := p.writer.store.JetStream().PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data},
		jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithMsgID(id))
	if err != nil && !IsConflict(err) { // else it is there: of another process, or of this one, and the acknowledgement was lost
		return fmt.Errorf("storing %s of session %s: %w", subject[len(subject)-min(len(subject), 40):], p.sessionID, err)
	}
	return nil
}
