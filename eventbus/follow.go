package eventbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Delivery is one event as a follower gets it.
type Delivery struct {
	// Seq is the event's sequence number. It rises along a stream, though not
	// by one: the streams of a workspace share the numbers.
	Seq  uint64
	Time time.Time // when the event was stored

	// Raw is the event's JSON as the followed session's stream shows it:
	// envelopes around the events of its children.
	Raw json.RawMessage
}

// FollowOptions says what part of a stream to follow. The zero value replays
// everything that is stored.
type FollowOptions struct {
	// From is the first sequence number of interest; 0: from the start. A
	// client that saw up to N comes back with N+1.
	From uint64

	// Live goes on with new events until the context ends; else the range
	// ends with the last stored one.
	Live bool
}

// Follow yields the stream of the session that path leads to: its own events
// and, in envelopes, those of all its descendants, in the order in which they
// were stored, each once. An error is the last value; the end of ctx is one.
// Leaving the loop ends the consumer.
func (b *Bus) Follow(ctx context.Context, path Path, opts FollowOptions) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		err := b.follow(ctx, path, opts, yield)
		if err != nil {
			yield(Delivery{}, fmt.Errorf("following the stream of a session: %w", err))
		}
	}
}

// Last returns the newest stored event of a type that the session at the end of
// path has published itself; nil: there is none.
func (b *Bus) Last(ctx context.Context, path Path, eventType string) (json.RawMessage, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return nil, err
	}
	msg, err := b.events.GetLastMsgForSubject(ctx, subject+"."+eventType)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the last %s event: %w", eventType, err)
	}
	return strip(msg.Data, len(path)-1)
}

func (b *Bus) follow(ctx context.Context, path Path, opts FollowOptions, yield func(Delivery, error) bool) error {
	subject, err := b.Subject(path)
	if err != nil {
		return err
	}
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject + ".>"},
		DeliverPolicy:  jetstream.DeliverAllPolicy,
	}
	if opts.From > 1 {
		cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		cfg.OptStartSeq = opts.From
	}
	consumer, err := b.events.OrderedConsumer(ctx, cfg)
	if err != nil {
		return err
	}
	if !opts.Live && consumer.CachedInfo().NumPending == 0 {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
				return errors.New("the connection to the event store was closed")
			}
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		raw, err := strip(msg.Data(), len(path)-1)
		if err != nil {
			return fmt.Errorf("event %d: %w", meta.Sequence.Stream, err)
		}
		d := Delivery{Seq: meta.Sequence.Stream, Time: meta.Timestamp, Raw: raw}
		if !yield(d, nil) {
			return nil
		}
		if !opts.Live && meta.NumPending == 0 {
			return nil
		}
	}
}
