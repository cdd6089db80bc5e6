package eventbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// stored is an event as the store has it: in the root's view.
type stored = natsstore.Message

// forever is the end of a range that does not end.
const forever = math.MaxUint64

// How many messages a reader of the embedded store asks for: a few without a consumer, then
// many at a time through one. A message costs less that way, and the request more. See
// BenchmarkReplay.
const (
	firstPart = 256
	nextPart  = 2048
)

// reader reads what is stored.
type reader struct{ store *natsstore.Store }

// replay delivers what a stream has on some subjects between two sequence numbers. It ends
// with what is stored when it begins. more is false if deliver wants no more.
func (r reader) replay(ctx context.Context, stream jetstream.Stream, subjects []string, from, upTo uint64, deliver func(*stored) (bool, error)) (more bool, err error) {
	if r.store.Embedded() {
		return r.parts(ctx, stream, subjects, from, upTo, deliver)
	}
	return r.external(ctx, stream, subjects, from, upTo, deliver)
}

// hand delivers a part of what is stored, up to a sequence number. next is where to go on;
// more is false if deliver wants no more.
func hand(ctx context.Context, part []*stored, from, upTo uint64, deliver func(*stored) (bool, error)) (next uint64, more bool, err error) {
	for _, m := range part {
		if m.Seq > upTo {
			return m.Seq, true, nil
		}
		if ctx.Err() != nil {
			return from, false, context.Cause(ctx)
		}
		if more, err := deliver(m); err != nil || !more {
			return from, false, err
		}
		from = m.Seq + 1
	}
	return from, true, nil
}

// behindPause is the pause before a server of a cluster is asked again that is behind
// the others.
const behindPause = 50 * time.Millisecond

// external is replay from an external server. Of a cluster, any server may be behind the
// others: the one that answers as the leader of the stream, and the one that has the
// consumer. Nothing is open there while deliver takes its time.
func (r reader) external(ctx context.Context, stream jetstream.Stream, subjects []string, from, upTo uint64, deliver func(*stored) (bool, error)) (more bool, err error) {
	if err := r.awaitLeader(ctx, stream, upTo); err != nil {
		return false, err
	}
	last, err := lastOf(ctx, stream, subjects)
	for err == nil && last != nil && from <= min(last.Sequence, upTo) {
		var part []*stored
		if part, _, err = r.store.Fetch(ctx, stream.CachedInfo().Config.Name, subjects, from, nextPart); err != nil {
			return false, err
		}
		if from, more, err = hand(ctx, part, from, upTo, deliver); err != nil || !more {
			return false, err
		}
		if len(part) == 0 { // it is behind, or the rest was deleted meanwhile
			pause(ctx, behindPause)
			last, err = lastOf(ctx, stream, subjects)
		}
	}
	return err == nil, err
}

// awaitLeader returns when the leader of a stream knows a message that was seen somewhere.
func (r reader) awaitLeader(ctx context.Context, stream jetstream.Stream, seq uint64) error {
	if seq == forever {
		return nil
	}
	for began := time.Now(); ; {
		last, err := newest(ctx, stream)
		switch {
		case err != nil, last >= seq:
			return err
		case time.Since(began) > r.store.AckTimeout():
			return errBehind
		}
		pause(ctx, behindPause)
	}
}

// tail delivers what a stream has on a subject from a sequence number on, and what is
// stored there later, until ctx ends or the store is lost.
func (r reader) tail(ctx context.Context, stream jetstream.Stream, subject string, from uint64, deliver func(*stored)) error {
	_, err := r.store.Consume(ctx, stream.CachedInfo().Config.Name, []string{subject}, start{Seq: max(from, 1)}, 0, func(m *stored) (bool, error) {
		deliver(m)
		return true, nil
	})
	return err
}

// parts is replay from the embedded store. Nothing is open there while deliver takes
// its time.
func (r reader) parts(ctx context.Context, stream jetstream.Stream, subjects []string, from, upTo uint64, deliver func(*stored) (bool, error)) (more bool, err error) {
	cfg := stream.CachedInfo().Config
	direct := cfg.AllowDirect
	left := uint64(forever) // how many are to come
	for left > 0 && from <= upTo {
		var part []*stored
		var pending uint64
		switch {
		case direct && len(subjects) == 1:
			part, pending, err = r.store.Get(ctx, cfg.Name, subjects[0], from, firstPart)
		case direct:
			part, pending, err = r.merged(ctx, stream, subjects, from)
		default:
			part, pending, err = r.store.Fetch(ctx, cfg.Name, subjects, from, nextPart)
		}
		if err != nil {
			return false, err
		}
		direct = false
		if from, more, err = hand(ctx, part, from, upTo, deliver); err != nil || !more {
			return false, err
		}
		// Later ones may be stored meanwhile, and some may be deleted.
		left = min(pending, left-min(left, uint64(len(part))))
	}
	return true, nil
}

// merged returns the messages that a stream of the embedded store has on several
// subjects, if there are few. Else it returns none, and how many there are. It avoids
// a consumer, for which the server would read much of the stream first.
func (r reader) merged(ctx context.Context, stream jetstream.Stream, subjects []string, from uint64) (all []*stored, pending uint64, err error) {
	last, err := newest(ctx, stream) // what comes after it may be seen on one subject, and not on another
	if err != nil {
		return nil, 0, err
	}
	for _, subject := range subjects {
		part, more, err := r.store.Get(ctx, stream.CachedInfo().Config.Name, subject, from, nextPart)
		if err != nil {
			return nil, 0, err
		}
		all, pending = append(all, part...), pending+more
	}
	if pending > 0 {
		return nil, pending + uint64(len(all)), nil
	}
	all = slices.DeleteFunc(all, func(m *stored) bool { return m.Seq > last })
	slices.SortFunc(all, func(a, b *stored) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, 0, nil
}

// contents yields the content of the messages that a stream has on a subject, the
// oldest first. An error is the last value.
func (r reader) contents(ctx context.Context, stream jetstream.Stream, subject string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		_, err := r.replay(ctx, stream, []string{subject}, 0, forever, func(m *stored) (bool, error) { return yield(m.Data, nil), nil })
		if err != nil {
			yield(nil, err)
		}
	}
}

// lastOf returns the last message that a stream has on some subjects; nil means it has
// none.
func lastOf(ctx context.Context, stream jetstream.Stream, subjects []string) (last *jetstream.RawStreamMsg, err error) {
	for _, subject := range subjects {
		m, err := stream.GetLastMsgForSubject(ctx, subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return nil, err
		case last == nil || m.Sequence > last.Sequence:
			last = m
		}
	}
	return last, nil
}

// newest returns the sequence number of the last message of a stream; 0 means it has
// none yet.
func newest(ctx context.Context, stream jetstream.Stream) (uint64, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("looking for the newest event: %w", err)
	}
	return info.State.LastSeq, nil
}

// start is where reading begins.
type start = natsstore.Start

// consume delivers what a stream has on some subjects from a start to a sequence
// number. more is false if deliver wants no more.
func (r reader) consume(ctx context.Context, stream jetstream.Stream, subjects []string, from start, upTo uint64, deliver func(*stored) (bool, error)) (more bool, err error) {
	name := stream.CachedInfo().Config.Name
	for {
		from, err = r.store.Consume(ctx, name, subjects, from, natsstore.SilenceTimeout, func(m *stored) (bool, error) {
			more, err = deliver(m)
			return more && m.Seq < upTo, err
		})
		if !errors.Is(err, natsstore.ErrSilent) {
			return more, err
		}
		// The rest was deleted, or the request for it was lost with a server.
		last, err := lastOf(ctx, stream, subjects)
		if err != nil || last == nil || last.Sequence < from.Seq || last.Time.Before(from.Time) {
			return err == nil, err
		}
	}
}

// errBehind reports that a server of a cluster does not know yet what is stored.
var errBehind = errors.New("a server of the event store is behind the others")

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
