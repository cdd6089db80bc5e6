package eventbus

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/event"
)

// Entry is one entry of a session's log: an event that the session has published
// itself, or what [Publisher.Append] has stored between them.
type Entry struct {
	Seq  uint64    // its sequence number, as [Delivery] has it
	Time time.Time // when it was stored

	// Kind is the type of an event, or the kind of another entry.
	Kind  string
	Event bool            // it is an event
	Data  json.RawMessage // its JSON, without envelopes
}

// Log yields the stored log of the session at the end of path: its own events and the entries
// between them, in order. The logs of the sessions below it are apart. An error is the last
// value.
func (b *Bus) Log(ctx context.Context, path event.Path) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := b.log(ctx, path, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, fmt.Errorf("reading the log of a session: %w", err))
		}
	}
}

func (b *Bus) log(ctx context.Context, path event.Path, yield func(Entry) bool) error {
	subject, err := b.Subject(path)
	if err != nil {
		return err
	}
	logSubject, err := b.logSubject(path)
	if err != nil {
		return err
	}
	_, err = b.reader.replay(ctx, b.events, []string{subject + ".*", logSubject + ".*"}, 0, forever, func(m *stored) (bool, error) {
		e, err := b.entry(ctx, m, len(path)-1, !strings.HasPrefix(m.Subject, logSubject))
		return err == nil && yield(e), err
	})
	return err
}

// entry returns a message as an entry of a log: an event in depth envelopes, or none.
func (b *Bus) entry(ctx context.Context, m *stored, depth int, isEvent bool) (e Entry, err error) {
	e = Entry{Seq: m.Seq, Time: m.Time, Event: isEvent}
	if !isEvent {
		e.Kind, e.Data = entryOf(m)
	} else if e.Data, err = event.Strip(m.Data, depth); err == nil {
		e.Kind = event.TypeOf(e.Data)
	}
	if err == nil {
		e.Data, err = b.payloads.resolve(ctx, e.Data)
	}
	if err != nil {
		return e, fmt.Errorf("entry %d: %w", m.Seq, err)
	}
	return e, nil
}

// Entries yields the entries of one kind, no events, that the logs of all sessions of
// the workspace have since a time, in the order in which they were stored. The zero
// time: all. An error is the last value.
func (b *Bus) Entries(ctx context.Context, kind string, since time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := b.entries(ctx, kind, start{Time: since}, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, fmt.Errorf("reading the logs of all sessions: %w", err))
		}
	}
}

// EntriesAfter is [Bus.Entries] for entries after a sequence number.
func (b *Bus) EntriesAfter(ctx context.Context, kind string, after uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := b.entriesAfter(ctx, kind, after, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, fmt.Errorf("reading the logs of all sessions: %w", err))
		}
	}
}

// rangeEntries is the largest range, in sequence numbers, in which entries are found by
// reading every message. In a larger one a consumer finds them, for which the server
// looks at all subjects first.
const rangeEntries = 50_000

func (b *Bus) entriesAfter(ctx context.Context, kind string, after uint64, yield func(Entry) bool) error {
	last, err := newest(ctx, b.events)
	if err != nil || last <= after {
		return err
	}
	if last-after > rangeEntries {
		return b.entries(ctx, kind, start{Seq: after + 1}, yield)
	}
	prefix := b.logPrefix()
	var failed error
	err = b.reader.between(ctx, b.events, after+1, last, func(m *stored) bool {
		if !strings.HasPrefix(m.Subject, prefix) {
			return true
		}
		more, err := b.ofKind(ctx, m, kind, yield)
		failed = err
		return more
	})
	return cmp.Or(failed, err)
}

// logPrefix is what the subjects of all entries of logs begin with that are no events.
func (b *Bus) logPrefix() string { return "agents.v1." + b.workspace + ".events.log." }

func (b *Bus) entries(ctx context.Context, kind string, from start, yield func(Entry) bool) error {
	// One filter for all entries: the store is slow to find the next message for
	// several, and most sessions have few entries.
	subject := b.logPrefix() + ">"
	last, err := lastOf(ctx, b.events, []string{subject})
	if err != nil || last == nil || last.Sequence < from.Seq || last.Time.Before(from.Time) {
		return err
	}
	_, err = b.reader.consume(ctx, b.events, []string{subject}, from, last.Sequence, func(m *stored) (bool, error) {
		return b.ofKind(ctx, m, kind, yield)
	})
	return err
}

// ofKind yields a message if it is an entry of a kind.
func (b *Bus) ofKind(ctx context.Context, m *stored, kind string, yield func(Entry) bool) (more bool, err error) {
	if has, _ := entryOf(m); has != kind {
		return true, nil
	}
	e, err := b.entry(ctx, m, 0, false)
	return err == nil && yield(e), err
}

// MissingPayloads yields the events and entries of the workspace whose content is
// in the object store, and not there any more. It reads all that is stored from a
// sequence number on, and the Data of what it yields is empty. An error is the last
// value.
func (b *Bus) MissingPayloads(ctx context.Context, from uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		_, err := b.reader.replay(ctx, b.events, []string{"agents.v1." + b.workspace + ".events.>"}, from, forever, func(m *stored) (bool, error) {
			if !bytes.Contains(m.Data, refField) {
				return true, nil
			}
			depth := strings.Count(m.Subject, ".") - strings.Count(b.logPrefix(), ".") // as many sessions are above it
			e, err := b.entry(ctx, m, depth, !strings.HasPrefix(m.Subject, b.logPrefix()))
			if err != nil || !bytes.Contains(e.Data, refField) || !bytes.Contains(e.Data, missingField) {
				return true, nil // what cannot be read is not an event of this program
			}
			return yield(Entry{Seq: m.Seq, Time: m.Time, Kind: e.Kind}, nil), nil
		})
		if err != nil {
			yield(Entry{}, fmt.Errorf("looking for payloads that are missing: %w", err))
		}
	}
}

// Range yields the messages that a stream has between two sequence numbers, both
// included, whatever their subjects, in order. Its cost does not depend on what else
// the stream has. An error is the last value.
func (b *Bus) Range(ctx context.Context, stream jetstream.Stream, from, to uint64) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		if err := b.reader.between(ctx, stream, max(from, 1), to, func(m *stored) bool { return yield(m, nil) }); err != nil {
			yield(nil, fmt.Errorf("reading the stream %s: %w", stream.CachedInfo().Config.Name, err))
		}
	}
}
