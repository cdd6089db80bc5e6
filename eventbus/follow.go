package eventbus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/nats-io/nats.go/jetstream"
)

// lookAgain is after what silence a reader of what is stored looks whether the
// rest of it is there still, and asks for it anew.
const lookAgain = time.Second

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

// Event decodes Raw: the envelopes around the event, the outermost first, and the
// event itself.
func (d Delivery) Event() (around []event.SubagentEvent, ev event.Event, err error) {
	return event.Unwrap(d.Raw)
}

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
func (b *Bus) Follow(ctx context.Context, path event.Path, opts FollowOptions) iter.Seq2[Delivery, error] {
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
func (b *Bus) Stored(ctx context.Context, above, path event.Path, eventType string) iter.Seq2[Delivery, error] {
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
func (b *Bus) Last(ctx context.Context, path event.Path, eventType string) (json.RawMessage, error) {
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
	raw, err := event.Strip(msg.Data, len(path)-1)
	if err != nil {
		return nil, err
	}
	return b.whole(ctx, raw)
}

// LastSeq returns the sequence number of the newest stored event of a type that
// the session at the end of path has published itself; 0: none is stored.
func (b *Bus) LastSeq(ctx context.Context, path event.Path, eventType string) (uint64, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return 0, err
	}
	msg, err := b.events.GetLastMsgForSubject(ctx, subject+"."+eventType)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the last %s event: %w", eventType, err)
	}
	return msg.Sequence, nil
}

// follow yields the events on a subject, or below it (".>"), without their outer
// depth envelopes.
func (b *Bus) follow(ctx context.Context, subject string, depth int, opts FollowOptions, yield func(Delivery, error) bool) error {
	deliver := func(ev *stored) (more bool, err error) {
		raw, err := event.Strip(ev.data, depth)
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
		_, err = b.replay(ctx, b.events, subject, opts.From, deliver)
	case below && b.Embedded():
		err = b.tap.follow(ctx, session, opts.From, deliver)
	default:
		_, err = b.consume(ctx, b.events, subject, opts.From, forGood, deliver)
	}
	return err
}

// Read yields the content of the messages that a stream has on a subject, the
// oldest first. An error is the last value.
func (b *Bus) Read(ctx context.Context, stream jetstream.Stream, subject string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		_, err := b.replay(ctx, stream, subject, 0, func(m *stored) (bool, error) { return yield(m.data, nil), nil })
		if err != nil {
			yield(nil, err)
		}
	}
}

// replay hands over what is stored on a subject from a sequence number on. more
// is false where deliver has said that it is enough.
func (b *Bus) replay(ctx context.Context, stream jetstream.Stream, subject string, from uint64, deliver func(*stored) (bool, error)) (more bool, err error) {
	last, err := lastOn(ctx, stream, subject)
	if err != nil || last == 0 || last < from {
		return err == nil, err
	}
	return b.consume(ctx, stream, subject, from, last, deliver)
}

// lastOn returns the sequence number of the last message that a stream has on a
// subject; 0: none.
func lastOn(ctx context.Context, stream jetstream.Stream, subject string) (uint64, error) {
	last, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return last.Sequence, nil
}

// forGood is the end of what does not end.
const forGood = math.MaxUint64

// errSilent tells that nothing came for [lookAgain].
var errSilent = errors.New("the event store is silent")

// consume hands over what a stream has on a subject from one sequence number to
// another.
func (b *Bus) consume(ctx context.Context, stream jetstream.Stream, subject string, from, upTo uint64, deliver func(*stored) (bool, error)) (more bool, err error) {
	for {
		from, more, err = b.consumeOnce(ctx, stream, subject, from, upTo, deliver)
		if !errors.Is(err, errSilent) {
			return more, err
		}
		// The rest was deleted, or the request for it was lost with a server.
		if last, err := lastOn(ctx, stream, subject); err != nil || last == 0 || last < from {
			return err == nil, err
		}
	}
}

// consumeOnce is consume by one consumer. next is the sequence number to go on
// with.
func (b *Bus) consumeOnce(ctx context.Context, stream jetstream.Stream, subject string, from, upTo uint64, deliver func(*stored) (bool, error)) (next uint64, more bool, err error) {
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject},
		DeliverPolicy:  jetstream.DeliverAllPolicy,
	}
	if from > 1 {
		cfg.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		cfg.OptStartSeq = from
	}
	consumer, err := stream.OrderedConsumer(ctx, cfg)
	if err != nil {
		return from, false, err
	}
	messages, err := consumer.Messages(b.pulls()...)
	if err != nil {
		return from, false, err
	}
	defer messages.Stop()
	for {
		msg, err := nextOf(ctx, messages, upTo)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return from, false, context.Cause(ctx)
		case errors.Is(err, context.DeadlineExceeded):
			return from, false, errSilent
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return from, false, errClosed
		default:
			return from, false, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return from, false, err
		}
		from = meta.Sequence.Stream + 1
		if more, err := deliver(&stored{meta.Sequence.Stream, meta.Timestamp, msg.Data()}); err != nil || !more {
			return from, false, err
		}
		if from > upTo {
			return from, true, nil
		}
	}
}

// nextOf waits for the next of messages, and up to lookAgain where they are to
// end.
func nextOf(ctx context.Context, messages jetstream.MessagesContext, upTo uint64) (jetstream.Msg, error) {
	if upTo != forGood {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, lookAgain)
		defer stop()
	}
	return messages.Next(jetstream.NextContext(ctx))
}
