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

	"github.com/agentworker/worker/eventbus/event"
	"github.com/nats-io/nats.go/jetstream"
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

// Follow yields the stream of the session that path leads to: its own events and,
// in envelopes, those of all its descendants, each once and in the order in which
// they were stored. nil options replay everything that is stored. An error is the
// last value; the end of ctx is one. Leaving the loop ends it.
func (b *Bus) Follow(ctx context.Context, path event.Path, opts *FollowOptions) iter.Seq2[Delivery, error] {
	if opts == nil {
		opts = &FollowOptions{}
	}
	return func(yield func(Delivery, error) bool) {
		f, err := b.following(path, path, ">", opts, yield)
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

// Stored yields the stored events of one type that the session at the end of path
// has published itself, as the stream of the session at the end of above shows
// them. An error is the last value.
func (b *Bus) Stored(ctx context.Context, above, path event.Path, eventType string) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		f, err := b.following(above, path, eventType, &FollowOptions{}, yield)
		if err == nil {
			err = f.run(ctx)
		}
		if err != nil {
			fail(yield, "reading the "+eventType+" events of a session", err)
		}
	}
}

// Newest returns the sequence number of the newest event in the store; 0 means it has
// none yet.
func (b *Bus) Newest(ctx context.Context) (uint64, error) { return newest(ctx, b.events) }

// Last returns the newest stored event of a type that the session at the end of
// path has published itself, or nil if there is none.
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
	if err != nil || takenOver(raw) {
		return nil, err
	}
	return b.payloads.resolve(ctx, raw)
}

// LastSeq returns the sequence number of the newest stored event of a type that
// the session at the end of path has published itself; 0 means none is stored.
func (b *Bus) LastSeq(ctx context.Context, path event.Path, eventType string) (uint64, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return 0, err
	}
	last, err := lastOf(ctx, b.events, []string{subject + "." + eventType})
	if err != nil {
		return 0, fmt.Errorf("reading the last %s event: %w", eventType, err)
	}
	if last == nil {
		return 0, nil
	}
	raw, err := event.Strip(last.Data, len(path)-1)
	if err != nil || takenOver(raw) {
		return 0, err
	}
	return last.Sequence, nil
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

// following yields the events on a subject, or below it (".>"), without their depth
// outer envelopes.
type following struct {
	bus     *Bus
	subject string
	depth   int
	FollowOptions
	yield func(Delivery, error) bool
}

func (b *Bus) following(above, path event.Path, tail string, opts *FollowOptions, yield func(Delivery, error) bool) (*following, error) {
	subject, err := b.Subject(path)
	if err != nil {
		return nil, err
	}
	return &following{bus: b, subject: subject + "." + tail, depth: len(above) - 1, FollowOptions: *opts, yield: yield}, nil
}

func (f *following) run(ctx context.Context) error {
	deliver := func(ev *stored) (bool, error) { return f.deliver(ctx, ev) }
	if session, below := strings.CutSuffix(f.subject, ".>"); f.Live && below && f.bus.Embedded() {
		return f.bus.fanOut.follow(ctx, session, f.From, deliver)
	}
	return f.alone(ctx, deliver)
}

// alone reads the store without the fan-out.
func (f *following) alone(ctx context.Context, deliver func(*stored) (bool, error)) (err error) {
	b, subjects := f.bus, []string{f.subject}
	if f.Live {
		_, err = b.reader.consume(ctx, b.events, subjects, start{seq: f.From}, forever, deliver)
	} else {
		_, err = b.reader.replay(ctx, b.events, subjects, f.From, forever, deliver)
	}
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
