package eventbus

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// shortRange is the largest range of the embedded store, in sequence numbers, that
	// is read message by message. For a larger one the server counts the subjects of
	// the stream first, which is slow if there are many.
	shortRange = 1024

	// rangeReaders is how many of them are asked for at once.
	rangeReaders = 16
)

func (r reader) between(ctx context.Context, stream jetstream.Stream, from, to uint64, yield func(*stored) bool) error {
	deliver := func(m *stored) (bool, error) { return m.Seq <= to && yield(m), nil }
	switch {
	case to < from:
		return nil
	case !r.store.Embedded():
		// A server that answers for itself may not be up to date: the consumer's is.
		subjects := stream.CachedInfo().Config.Subjects
		last, err := lastOf(ctx, stream, subjects)
		if err == nil && last != nil && last.Sequence >= from {
			_, err = r.consume(ctx, stream, subjects, start{Seq: from}, min(to, last.Sequence), deliver)
		}
		return err
	case to-from < shortRange:
		for _, m := range r.each(ctx, stream, from, to) {
			if m.err != nil {
				return m.err
			}
			if m.Message != nil && !yield(m.Message) {
				return nil
			}
		}
		return nil
	}
	for from <= to {
		part, pending, err := r.store.Get(ctx, stream.CachedInfo().Config.Name, ">", from, nextPart)
		if err != nil {
			return err
		}
		for _, m := range part {
			if more, err := deliver(m); err != nil || !more {
				return err
			}
			from = m.Seq + 1
		}
		if pending == 0 || len(part) == 0 {
			return nil
		}
	}
	return nil
}

// found is a message, nil if there is none, or why that is not known.
type found struct {
	*Message
	err error
}

// each reads the messages of a short range at once.
func (r reader) each(ctx context.Context, stream jetstream.Stream, from, to uint64) []found {
	all := make([]found, to-from+1)
	var readers sync.WaitGroup
	for first := range min(rangeReaders, len(all)) {
		readers.Go(func() {
			for i := first; i < len(all); i += rangeReaders {
				m, err := stream.GetMsg(ctx, from+uint64(i))
				switch {
				case err == nil:
					all[i].Message = &Message{Subject: m.Subject, Seq: m.Sequence, Time: m.Time, Data: m.Data}
				case !errors.Is(err, jetstream.ErrMsgNotFound):
					all[i].err = err
				}
			}
		})
	}
	readers.Wait()
	return all
}
