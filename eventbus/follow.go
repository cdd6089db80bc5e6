package eventbus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
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

// Ends reports whether this is the followed session's own session_end: its last
// event.
func (d Delivery) Ends() bool { return bytes.HasPrefix(d.Raw, sessionEnd) }

var sessionEnd = []byte(`{"type":"session_end"`)

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
		subject, err := b.Subject(path)
		if err == nil {
			err = b.follow(ctx, subject+".>", len(path)-1, opts, yield)
		}
		if err != nil {
			yield(Delivery{}, fmt.Errorf("following the stream of a session: %w", err))
		}
	}
}

// Stored yields the stored events of one type that the session at the end of
// path has published itself, as the stream of the session above shows them. An
// error is the last value.
func (b *Bus) Stored(ctx context.Context, above, path Path, eventType string) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		subject, err := b.Subject(path)
		if err == nil {
			err = b.follow(ctx, subject+"."+eventType, len(above)-1, FollowOptions{}, yield)
		}
		if err != nil {
			yield(Delivery{}, fmt.Errorf("reading the %s events of a session: %w", eventType, err))
		}
	}
}

// Newest returns the sequence number of the newest event of all; 0: there was
// none yet.
func (b *Bus) Newest(ctx context.Context) (uint64, error) {
	info, err := b.events.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("looking for the newest event: %w", err)
	}
	return info.State.LastSeq, nil
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
	raw, err := strip(msg.Data, len(path)-1)
	if err != nil {
		return nil, err
	}
	return b.whole(ctx, raw)
}

// follow yields the events on a subject, or below it (".>"), without their outer
// depth envelopes.
func (b *Bus) follow(ctx context.Context, subject string, depth int, opts FollowOptions, yield func(Delivery, error) bool) error {
	deliver := func(ev *stored) (more bool, err error) {
		raw, err := strip(ev.data, depth)
		if err == nil {
			raw, err = b.whole(ctx, raw)
		}
		if err != nil {
			return false, fmt.Errorf("event %d: %w", ev.seq, err)
		}
		return yield(Delivery{Seq: ev.seq, Time: ev.time, Raw: raw}, nil), nil
	}
	var err error
	switch session, below := strings.CutSuffix(subject, ".>"); {
	case !opts.Live:
		_, err = b.replay(ctx, subject, opts.From, deliver)
	case below && b.Embedded():
		err = b.tap.follow(ctx, session, opts.From, deliver)
	default:
		_, err = b.consume(ctx, subject, opts.From, true, deliver)
	}
	return err
}

// replay hands over what is stored on a subject from a sequence number on. more
// is false where deliver has said that it is enough.
func (b *Bus) replay(ctx context.Context, subject string, from uint64, deliver func(*stored) (bool, error)) (more bool, err error) {
	last, err := b.events.GetLastMsgForSubject(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return true, nil
	case err != nil:
		return false, err
	case last.Sequence < from:
		return true, nil
	}
	return b.consume(ctx, subject, from, false, deliver)
}

// consume hands over what is stored on a subject from a sequence number on, by a
// consumer, and if live what comes then.
func (b *Bus) consume(ctx context.Context, subject string, from uint64, live bool, deliver func(*stored) (bool, error)) (more bool, err error) {
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject},
		DeliverPolicy:  jetstream.DeliverAllPolicy,
	}
	if from > 1 {
		cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		cfg.OptStartSeq = from
	}
	consumer, err := b.events.OrderedConsumer(ctx, cfg)
	if err != nil {
		return false, err
	}
	if info := consumer.CachedInfo(); !live && info.NumPending == 0 { // deleted meanwhile
		return true, b.events.DeleteConsumer(ctx, info.Name)
	}
	messages, err := consumer.Messages(b.pulls()...)
	if err != nil {
		return false, err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
				return false, errClosed
			}
			return false, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return false, err
		}
		if more, err := deliver(&stored{meta.Sequence.Stream, meta.Timestamp, msg.Data()}); err != nil || !more {
			return false, err
		}
		if !live && meta.NumPending == 0 {
			return true, nil
		}
	}
}
