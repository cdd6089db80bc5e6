package eventbus

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
)

var sessionResumed = []byte(`{"type":"session_resumed"`)

// takenOver reports whether what is stored on the subject of a session's end is no end.
func takenOver(raw []byte) bool { return bytes.HasPrefix(raw, sessionResumed) }

// TakeOver publishes that this process goes on with the session at the end of path, and
// returns its publisher, and the sequence number of the event. since is that of the last
// such event in the session's log; 0 means there is none. Nothing is stored behind the event
// of what a process publishes that had the session before. Of all that would take it over
// from there or end it, one succeeds; the others get [ErrEnded].
func (b *Bus) TakeOver(ctx context.Context, path event.Path, since uint64, ev event.SessionResumed) (*Publisher, uint64, error) {
	p, err := b.PublisherSince(path, since)
	if err != nil {
		return nil, 0, err
	}
	data, err := p.message(ctx, ev)
	if err != nil {
		return nil, 0, err
	}
	ack, err := b.JetStream().PublishMsg(ctx, &nats.Msg{Subject: p.endSubject, Data: data}, jetstream.WithExpectLastSequencePerSubject(since))
	switch {
	case err == nil:
		p.since = ack.Sequence
	case IsConflict(err): // by another one, or by this one, and its acknowledgement was lost
		last, readErr := b.events.GetLastMsgForSubject(ctx, p.endSubject)
		if readErr != nil {
			return nil, 0, fmt.Errorf("taking over session %s: %w", p.sessionID, errors.Join(err, readErr))
		}
		if !bytes.Equal(last.Data, data) {
			return nil, 0, fmt.Errorf("taking over session %s: %w", p.sessionID, ErrEnded)
		}
		p.since = last.Sequence
	default:
		return nil, 0, fmt.Errorf("taking over session %s: %w", p.sessionID, err)
	}
	return p, p.since, nil
}
