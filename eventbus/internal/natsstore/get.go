package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// maxReads bounds the requests of a process for stored messages that run at
	// the same time.
	maxReads = 8

	// readBytes bounds what one of them returns, in bytes, unless a single message
	// has more.
	readBytes = 1 << 20

	// gapAttempts is how often one is repeated at once after a part was lost.
	gapAttempts = 3
)

// errGap is returned for an answer of which a part was lost.
var errGap = errors.New("a part of the event store's answer was lost")

// Get returns what a stream of the embedded store has on a subject from a sequence number on,
// in order. It returns at most limit messages, up to the one that completes [readBytes].
// pending is how many more it has. The stream must allow direct access.
//
// It costs the server no consumer, and more for each message than [Store.Fetch].
func (s *Store) Get(ctx context.Context, stream, subject string, from uint64, limit int) (msgs []*Message, pending uint64, err error) {
	return s.read(ctx, func(ctx context.Context) (batch, error) {
		if subject == ">" {
			return s.direct(ctx, stream, directGet{max(from, 1), subject, limit, readBytes})
		}
		// If asked for more than there is on a subject with wildcards, the server searches to
		// the end of the stream. It counts what follows any place but the start by reading the
		// stream. So all is counted first.
		first, err := s.direct(ctx, stream, directGet{1, subject, 1, readBytes})
		all := first.pending + uint64(len(first.msgs))
		switch {
		case err != nil || all == 0:
			return batch{}, err
		case all > uint64(limit):
			return s.direct(ctx, stream, directGet{max(from, 1), subject, limit, readBytes})
		case all > 1:
			first, err = s.direct(ctx, stream, directGet{1, subject, int(all), readBytes})
		}
		first.msgs = slices.DeleteFunc(first.msgs, func(m *Message) bool { return m.Seq < from })
		return first, err
	})
}

// direct sends a request and returns its answers.
func (s *Store) direct(ctx context.Context, stream string, get directGet) (batch, error) {
	request, err := json.Marshal(get)
	if err != nil {
		return batch{}, err
	}
	answers, stop, err := s.ask("$JS.API.DIRECT.GET."+stream, request, get.Batch+1)
	if err != nil {
		return batch{}, err
	}
	defer stop()
	return readDirect(ctx, answers)
}

// directGet is the request, as ADR-31 of NATS defines it.
type directGet struct {
	Seq      uint64 `json:"seq"`
	Subject  string `json:"next_by_subj"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// batch is a part of what a stream has.
type batch struct {
	msgs    []*Message
	pending uint64 // how many follow
}

// readDirect reads the answers to a [directGet]. Each names the one before, and the
// last one, which has a status, the last message.
func readDirect(ctx context.Context, answers <-chan *nats.Msg) (b batch, err error) {
	last := uint64(0)
	for {
		m, err := receive(ctx, answers)
		if err != nil {
			return b, err
		}
		before := m.Header.Get(lastSequenceHeader)
		switch code, text := status(m); {
		case code == "404" && last == 0:
			return b, nil
		case code == "204" && before != strconv.FormatUint(last, 10):
			return b, errGap
		case code == "204":
			b.pending, err = strconv.ParseUint(m.Header.Get(numPendingHeader), 10, 64)
			return b, err
		case code != "":
			return b, answerError(code, text)
		case before != strconv.FormatUint(last, 10):
			return b, errGap
		}
		msg, err := directMessage(m)
		if err != nil {
			return b, err
		}
		b.msgs, last = append(b.msgs, msg), msg.Seq
	}
}

// The headers of an answer, besides the ones that the library names.
const (
	numPendingHeader   = "Nats-Num-Pending"
	lastSequenceHeader = "Nats-Last-Sequence"
)

// directMessage returns the message in an answer to a [directGet].
func directMessage(m *nats.Msg) (*Message, error) {
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reading an answer of the event store: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return nil, fmt.Errorf("reading an answer of the event store: %w", err)
	}
	return newMessage(m, m.Header.Get(jetstream.SubjectHeader), seq, at), nil
}

// answerError is the error for a status that does not belong to an answer.
func answerError(code, text string) error {
	if code == "503" {
		return nats.ErrNoResponders
	}
	return fmt.Errorf("the event store answers %s %s", code, text)
}

// read calls f until it succeeds, while the store is away, and a few such calls of
// the process at a time: a big replay slows down those who write.
func (s *Store) read(ctx context.Context, f func(context.Context) (batch, error)) ([]*Message, uint64, error) {
	select {
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	case <-s.ctx.Done():
		return nil, 0, context.Cause(s.ctx)
	}
	lim := readLimits
	if !s.Embedded() { // it may be away for any time
		lim.total = 0
	}
	b, err := retry(ctx, s.retrier, lim, func(ctx context.Context) (batch, error) {
		for range gapAttempts {
			if b, err := f(ctx); !errors.Is(err, errGap) {
				return b, err
			}
		}
		return batch{}, errGap
	})
	return b.msgs, b.pending, err
}

// ask sends a request whose answers are several messages, at most limit.
func (s *Store) ask(subject string, request []byte, limit int) (answers <-chan *nats.Msg, stop func(), err error) {
	inbox, to := s.conn.NewInbox(), make(chan *nats.Msg, limit)
	sub, err := s.conn.ChanSubscribe(inbox, to)
	if err != nil {
		return nil, nil, err
	}
	stop = func() { _ = sub.Unsubscribe() }
	if err := s.conn.PublishRequest(subject, inbox, request); err != nil {
		stop()
		return nil, nil, err
	}
	return to, stop, nil
}

func receive(ctx context.Context, answers <-chan *nats.Msg) (*nats.Msg, error) {
	select {
	case m, ok := <-answers:
		if !ok {
			return nil, nats.ErrConnectionClosed
		}
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
