package eventbus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
)

// Delivery is one event as a reader of a stream gets it.
type Delivery struct {
	// Seq is the event's sequence number. It rises along a stream, though not
	// by one: the streams of a workspace share the numbers.
	Seq  uint64
	Time time.Time // when the event was stored

	// Raw is the event's JSON as the session's stream shows it, with envelopes
	// around the events of its children.
	Raw json.RawMessage
}

// Ends reports whether this is the session's own session_end, its last event.
func (d Delivery) Ends() bool { return bytes.HasPrefix(d.Raw, sessionEnd) }

// Event decodes Raw into the envelopes around the event, the outermost first, and
// the event itself.
func (d Delivery) Event() (around []event.SubagentEvent, ev event.Event, err error) {
	return event.Unwrap(d.Raw)
}

var sessionEnd = []byte(`{"type":"session_end"`)

// FollowOptions selects a part of a stream.
type FollowOptions struct {
	// From is the first sequence number of interest; 0 means from the start. A client
	// that saw up to N comes back with N+1.
	From uint64

	// Live continues with new events until the context ends; false: the range ends
	// with the last stored event.
	Live bool
}

// Follow yields the stream of the session at the end of path: its own events and, in
// envelopes, the events of its descendants. Each comes once, in the order of storing. nil
// options replay everything that is stored. An error is the last value; the end of ctx is one.
// With Live, a store that is away is none: what follows waits for it. Leaving the loop ends it.
func (b *Bus) Follow(ctx context.Context, path event.Path, opts *FollowOptions) iter.Seq2[Delivery, error] {
	if opts == nil {
		opts = &FollowOptions{}
	}
	return func(yield func(Delivery, error) bool) {
		f, err := newFollowing(b, path, path, opts, yield)
		if err == nil {
			err = f.run(ctx)
		}
		if err != nil {
			fail(yield, "following the stream of a session", err)
		}
	}
}

// fail yields an error as the last value of a stream.
func fail(yield func(Delivery, error) bool, doing string, err error) {
	yield(Delivery{}, fmt.Errorf("%s: %w", doing, err))
}

// Stored yields the session's own stored events of one type, from a sequence number on. path
// leads to the session, and above to the session whose stream shows them. An error is the last
// value.
func (b *Bus) Stored(ctx context.Context, above, path event.Path, eventType string, from uint64) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		if err := b.ofType(ctx, above, path, eventType, from, yield); err != nil {
			fail(yield, "reading the "+eventType+" events of a session", err)
		}
	}
}

func (b *Bus) ofType(ctx context.Context, above, path event.Path, eventType string, from uint64, yield func(Delivery, error) bool) error {
	f, err := newFollowing(b, above, path, &FollowOptions{}, yield)
	if err != nil {
		return err
	}
	inner := len(path) - 1
	_, err = b.reader.replay(ctx, b.events, []string{subjectOf(f.session, eventType)}, from, forever, func(m *stored) (bool, error) {
		if own, err := event.Strip(m.Data, inner); err != nil || event.TypeOf(own) != eventType {
			return err == nil, err
		}
		return f.deliver(ctx, m)
	})
	return err
}

// Newest returns the sequence number of the newest event in the store; 0 means it has
// none yet.
func (b *Bus) Newest(ctx context.Context) (uint64, error) { return newest(ctx, b.events) }

// Last returns the newest stored event of a type that the session at the end of path
// has published itself. Its Raw is without envelopes, and its Seq is 0 if there is none.
func (b *Bus) Last(ctx context.Context, path event.Path, eventType string) (Delivery, error) {
	d, err := b.last(ctx, path, eventType)
	if err != nil {
		return Delivery{}, fmt.Errorf("reading the last %s event: %w", eventType, err)
	}
	return d, nil
}

func (b *Bus) last(ctx context.Context, path event.Path, eventType string) (d Delivery, err error) {
	subject, err := b.Subject(path)
	if err != nil {
		return d, err
	}
	inner := len(path) - 1
	m, err := lastOf(ctx, b.events, []string{subjectOf(subject, eventType)})
	if err != nil || m == nil {
		return d, err
	}
	found := &stored{Seq: m.Sequence, Time: m.Time, Data: m.Data}
	raw, err := event.Strip(found.Data, inner)
	if err == nil && event.OfTurns(eventType) && event.TypeOf(raw) != eventType {
		if eventType == (event.SessionEnd{}).Type() { // nothing is behind it
			return d, nil
		}
		if found, err = b.reader.lastBefore(ctx, b.events, subject, inner, eventType, found.Seq); err != nil || found == nil {
			return d, err
		}
		raw, err = event.Strip(found.Data, inner)
	}
	if err != nil {
		return d, err
	}
	if raw, err = b.payloads.resolve(ctx, raw); err != nil {
		return d, err
	}
	return Delivery{Seq: found.Seq, Time: found.Time, Raw: raw}, nil
}

// lastRange is the range, in sequence numbers, in which the last event is looked for of a
// type that shares its subject with others. What is looked for is mostly among the last
// events of its session. Each further range is so many times as large.
const lastRange = 64

// lastBefore returns the last event of a type that shares its subject with others, before
// a sequence number; nil means there is none.
func (r reader) lastBefore(ctx context.Context, stream jetstream.Stream, session string, inner int, eventType string, before uint64) (last *stored, err error) {
	for width := uint64(lastRange); before > 1 && last == nil; width *= lastRange {
		from := before - min(before-1, width)
		_, err := r.replay(ctx, stream, []string{subjectOf(session, eventType)}, from, before-1, func(m *stored) (bool, error) {
			own, err := event.Strip(m.Data, inner)
			if err == nil && event.TypeOf(own) == eventType {
				last = m
			}
			return err == nil, err
		})
		if err != nil {
			return nil, err
		}
		before = from
	}
	return last, nil
}

// LastTime returns when the newest event of the session at the end of path was stored.
// Events of sessions below it do not count. Without any event it is the zero time.
func (b *Bus) LastTime(ctx context.Context, path event.Path) (time.Time, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return time.Time{}, err
	}
	msg, err := b.events.GetLastMsgForSubject(ctx, subject+".*")
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the time of the last event: %w", err)
	}
	return msg.Time, nil
}

// Read yields the content of the messages that a stream has on a subject, the
// oldest first. An error is the last value.
func (b *Bus) Read(ctx context.Context, stream jetstream.Stream, subject string) iter.Seq2[[]byte, error] {
	return b.reader.contents(ctx, stream, subject)
}

// Messages yields the messages that a stream has on a subject, the oldest first, up to
// the last one that it has when this is called. It is for many: the server counts them
// first. An error is the last value.
func (b *Bus) Messages(ctx context.Context, stream jetstream.Stream, subject string) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		last, err := lastOf(ctx, stream, []string{subject})
		if err == nil && last != nil {
			_, err = b.reader.consume(ctx, stream, []string{subject}, start{}, last.Sequence, func(m *stored) (bool, error) { return yield(m, nil), nil })
		}
		if err != nil {
			yield(nil, fmt.Errorf("reading the stream %s: %w", stream.CachedInfo().Config.Name, err))
		}
	}
}

// following yields the events below the subject of a session, without their depth outer
// envelopes.
type following struct {
	bus     *Bus
	session string // the subject
	depth   int
	FollowOptions
	yield func(Delivery, error) bool
}

func newFollowing(b *Bus, above, path event.Path, opts *FollowOptions, yield func(Delivery, error) bool) (*following, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return nil, err
	}
	return &following{bus: b, session: subject, depth: len(above) - 1, FollowOptions: *opts, yield: yield}, nil
}

func (f *following) run(ctx context.Context) error {
	deliver := func(ev *stored) (bool, error) { return f.deliver(ctx, ev) }
	if f.Live {
		return f.bus.fanOut.follow(ctx, f.session, f.From, deliver)
	}
	_, err := f.bus.reader.replay(ctx, f.bus.events, []string{f.session + ".>"}, f.From, forever, deliver)
	return err
}

func (f *following) deliver(ctx context.Context, ev *stored) (more bool, err error) {
	raw, err := event.Strip(ev.Data, f.depth)
	if err == nil {
		raw, err = f.bus.payloads.resolve(ctx, raw)
	}
	if err != nil {
		return false, fmt.Errorf("event %d: %w", ev.Seq, err)
	}
	return f.yield(Delivery{Seq: ev.Seq, Time: ev.Time, Raw: raw}, nil), nil
}
