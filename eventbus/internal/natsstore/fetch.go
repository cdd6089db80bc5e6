package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Fetch returns what a stream has on some subjects, in order, from a sequence number on. It
// returns at most limit messages, and at most [readBytes] unless the first one has more.
// pending is how many more there are, as far as the server knows that is asked. It makes a
// consumer, and deletes it before it returns.
func (s *Store) Fetch(ctx context.Context, stream string, subjects []string, from uint64, limit int) (msgs []*Message, pending uint64, err error) {
	return s.read(ctx, func(ctx context.Context) (batch, error) {
		consumer, err := s.js.JetStream.CreateConsumer(ctx, stream, readFrom(subjects, from))
		if err != nil {
			return batch{}, err
		}
		name := consumer.CachedInfo().Name
		defer s.forget(stream, name)
		// Asked for more than there is, the server looks for it to the end of the stream.
		some := int(min(consumer.CachedInfo().NumPending, uint64(limit)))
		if some == 0 {
			return batch{}, nil
		}
		b, err := s.pull(ctx, stream, name, pull{Batch: some, MaxBytes: readBytes, NoWait: true})
		if errors.Is(err, errTooLarge) {
			b, err = s.pull(ctx, stream, name, pull{Batch: 1, NoWait: true})
		}
		return b, err
	})
}

// pull is the request for messages of a consumer.
type pull struct {
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`        // it ends with what is stored
	Expires   time.Duration `json:"expires,omitempty"`        // else when it ends
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"` // how often the server says that it is open
}

// tooLarge is the text of the status 409 of a request whose next message has more than
// the bytes that are left.
const tooLarge = "Message Size Exceeds MaxBytes"

// errTooLarge is returned if the first message does not fit in max_bytes.
var errTooLarge = errors.New("the first message is too large")

func (s *Store) pull(ctx context.Context, stream, consumer string, p pull) (batch, error) {
	request, err := json.Marshal(p)
	if err != nil {
		return batch{}, err
	}
	answers, stop, err := s.ask("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, request, p.Batch+1)
	if err != nil {
		return batch{}, err
	}
	defer stop()
	return readPulled(ctx, answers, p.Batch)
}

// readPulled reads the answers to a [pull]. The consumer counts its messages; a
// status ends them if there are fewer than asked for.
func readPulled(ctx context.Context, answers <-chan *nats.Msg, limit int) (b batch, err error) {
	for len(b.msgs) < limit {
		m, err := receive(ctx, answers)
		if err != nil {
			return b, err
		}
		switch code, text := status(m); {
		case code == "409" && len(b.msgs) == 0 && text == tooLarge:
			return b, errTooLarge
		case code == "404", code != "" && code != "503" && len(b.msgs) > 0:
			return b, nil // no more are there, or no more fit
		case code != "":
			return b, answerError(code, text)
		}
		msg, number, pending, err := delivery(m)
		if err != nil {
			return b, fmt.Errorf("reading an answer of the event store: %w", err)
		}
		if number != uint64(len(b.msgs))+1 {
			return b, errGap
		}
		b.msgs, b.pending = append(b.msgs, msg), pending
		if pending == 0 {
			break
		}
	}
	return b, nil
}

// readFrom is a consumer of what is stored on some subjects from a sequence number
// on.
func readFrom(subjects []string, from uint64) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		FilterSubjects:    subjects,
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       max(from, 1),
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: consumerTimeout,
	}
}

// forget deletes a consumer without waiting. If that fails the server deletes it by
// itself, later.
func (s *Store) forget(stream, consumer string) {
	_ = s.conn.Publish("$JS.API.CONSUMER.DELETE."+stream+"."+consumer, nil)
}
