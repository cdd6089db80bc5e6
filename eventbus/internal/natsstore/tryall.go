package natsstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Write is a message that is stored if nobody else has changed its subject.
type Write struct {
	Subject string
	Data    []byte
	Last    uint64 // the sequence number of the subject's last message; 0 means it has none
}

// errUnanswered reports that it is not known whether a message was stored.
var errUnanswered = errors.New("the event store has not answered")

// TryAll sends writes one behind the other, and returns what became of each when all
// are answered, or [AttemptTimeout] is over. It tries once: the caller looks after what
// has failed, which may be stored nevertheless. For a conflict see [IsConflict].
func (s *Store) TryAll(ctx context.Context, writes []Write) []Result {
	results := make([]Result, len(writes))
	ctx, stop := context.WithTimeout(ctx, AttemptTimeout)
	defer stop()
	conn, err := s.publish.get(ctx)
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	type answer struct {
		Result
		about int
	}
	answers := make(chan answer, len(writes))
	waiting := make(map[int]*Batch, len(writes))
	for i, w := range writes {
		b := conn.Begin(1, func(r Result) { answers <- answer{r, i} })
		if results[i].Err = b.Send(w.Subject, expect(w.Last), w.Data); results[i].Err != nil {
			conn.forget(b)
			continue
		}
		results[i].Err, waiting[i] = errUnanswered, b
	}
	for len(waiting) > 0 {
		select {
		case a := <-answers:
			results[a.about] = a.Result
			delete(waiting, a.about)
			continue
		case <-conn.Gone():
		case <-ctx.Done():
		}
		for _, b := range waiting {
			conn.forget(b)
		}
		return results
	}
	return results
}

// expectNone is the header of a message whose subject has no other.
var expectNone = nats.Header{jetstream.ExpectedLastSubjSeqHeader: []string{"0"}}

func expect(last uint64) nats.Header {
	if last == 0 {
		return expectNone
	}
	return nats.Header{jetstream.ExpectedLastSubjSeqHeader: []string{strconv.FormatUint(last, 10)}}
}
