package eventbus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

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

// Log yields the log of the session at the end of path as far as it is stored: its
// own events, and the entries between them, in their order. The logs of the
// sessions below it are apart. An error is the last value.
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
		e := Entry{Seq: m.Seq, Time: m.Time, Kind: m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], Data: m.Data}
		e.Event = !strings.HasPrefix(m.Subject, logSubject)
		if e.Event {
			raw, err := event.Strip(e.Data, len(path)-1)
			if err != nil {
				return false, fmt.Errorf("event %d: %w", m.Seq, err)
			}
			e.Data = raw
		}
		raw, err := b.payloads.resolve(ctx, e.Data)
		if err != nil {
			return false, fmt.Errorf("entry %d: %w", m.Seq, err)
		}
		e.Data = raw
		return yield(e), nil
	})
	return err
}

// Entries yields the entries of one kind, no events, that the logs of all sessions of
// the workspace have since a time, in the order in which they were stored. The zero
// time: all. An error is the last value.
func (b *Bus) Entries(ctx context.Context, kind string, since time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := b.entries(ctx, kind, start{time: since}, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, fmt.Errorf("reading the logs of all sessions: %w", err))
		}
	}
}

// EntriesAfter is [Bus.Entries] for those behind a sequence number.
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
		return b.entries(ctx, kind, start{seq: after + 1}, yield)
	}
	prefix, suffix := b.logPrefix(), "."+kind
	var failed error
	err = b.reader.between(ctx, b.events, after+1, last, func(m *stored) bool {
		if !strings.HasPrefix(m.Subject, prefix) || !strings.HasSuffix(m.Subject, suffix) {
			return true
		}
		raw, err := b.payloads.resolve(ctx, m.Data)
		if err != nil {
			failed = fmt.Errorf("entry %d: %w", m.Seq, err)
			return false
		}
		return yield(Entry{Seq: m.Seq, Time: m.Time, Kind: kind, Data: raw})
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
	if err != nil || last == nil || last.Sequence < from.seq || last.Time.Before(from.time) {
		return err
	}
	_, err = b.reader.consume(ctx, b.events, []string{subject}, from, last.Sequence, func(m *stored) (bool, error) {
		if !strings.HasSuffix(m.Subject, "."+kind) {
			return true, nil
		}
		raw, err := b.payloads.resolve(ctx, m.Data)
		if err != nil {
			return false, fmt.Errorf("entry %d: %w", m.Seq, err)
		}
		return yield(Entry{Seq: m.Seq, Time: m.Time, Kind: kind, Data: raw}), nil
	})
	return err
}
