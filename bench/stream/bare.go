package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/bench/workerpeer"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// Bare is JetStream's own way: asynchronous publishes, each acknowledged, and an
// ordered consumer for each follower.
func Bare() (Way, error) { return openBare() }

// Least is the least that is stored in order: plain publishes of which only the
// last is acknowledged. Nobody would notice a lost one.
func Least() (Way, error) {
	b, err := openBare()
	if err != nil {
		return nil, err
	}
	return &least{bare: b}, nil
}

func openBare() (*bare, error) {
	w, err := start() // for its server, and its stream
	if err != nil {
		return nil, err
	}
	b := &bare{Worker: w}
	if b.js, err = jetstream.New(w.Bus.Conn()); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	subject, err := w.Bus.Subject(parentPath)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	b.parent, b.child = subject, subject+"."+childPath[1].SessionID
	return b, nil
}

type bare struct {
	*workerpeer.Worker
	js            jetstream.JetStream
	parent, child string // subjects
	events        []nats.Msg
	sessions      int
}

// Prepare makes the messages: the events as the parent's stream shows them.
func (b *bare) Prepare(events []event.Event) error {
	before, after := childPath.Envelope()
	b.events = make([]nats.Msg, len(events))
	for i, ev := range events {
		data, err := event.Encode(ev)
		if err != nil {
			return err
		}
		b.events[i] = nats.Msg{Subject: b.child + ".turn", Data: slices.Concat(before, data, after)}
	}
	return nil
}

func (b *bare) Publish(_ context.Context, i int) error { return b.send(&b.events[i]) }

func (b *bare) send(msg *nats.Msg) error {
	_, err := b.js.PublishMsgAsync(msg, jetstream.WithStallWait(time.Minute))
	return err
}

func (b *bare) Wait(ctx context.Context) error {
	select {
	case <-b.js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// MaxFollowers stays below the 1,000 consumers that a server lets a stream have.
func (b *bare) MaxFollowers() int { return 900 }

func (b *bare) Follow(ctx context.Context, live bool) iter.Seq2[[]byte, error] {
	return b.follow(ctx, b.parent, live)
}

func (b *bare) follow(ctx context.Context, subject string, live bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		consumer, err := b.js.OrderedConsumer(ctx, eventbus.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject + ".>"}})
		if err != nil {
			yield(nil, err)
			return
		}
		left := consumer.CachedInfo().NumPending
		if !live && left == 0 {
			return
		}
		messages, err := consumer.Messages()
		if err != nil {
			yield(nil, err)
			return
		}
		defer messages.Stop()
		defer context.AfterFunc(ctx, messages.Stop)()
		for {
			msg, err := messages.Next()
			if err != nil {
				yield(nil, err)
				return
			}
			left--
			if !yield(msg.Data(), nil) || bytes.HasPrefix(msg.Data(), []byte(`{"type":"session_end"`)) || !live && left == 0 {
				return
			}
		}
	}
}

func (b *bare) Begin(context.Context) (Session, error) {
	b.sessions++
	s := &bareSession{b, fmt.Sprintf("%s%d", b.parent, b.sessions)}
	return s, b.send(&nats.Msg{Subject: s.subject + ".turn", Data: []byte(`{"type":"session_start"}`)})
}

type bareSession struct {
	bare    *bare
	subject string
}

func (s *bareSession) Follow(ctx context.Context) iter.Seq2[[]byte, error] {
	return s.bare.follow(ctx, s.subject, true)
}

func (s *bareSession) End(ctx context.Context) error {
	_, err := s.bare.js.Publish(ctx, s.subject+".turn", []byte(`{"type":"session_end"}`))
	return err
}

type least struct {
	*bare
	held int // the event that is not sent yet, counted from 1; 0 means none
}

// Publish sends the event before: the last one is for Wait to send.
func (l *least) Publish(_ context.Context, i int) error {
	before := l.held
	l.held = i + 1
	if before == 0 {
		return nil
	}
	return l.Bus.Conn().PublishMsg(&l.events[before-1])
}

// Wait sends the last event, and waits for its acknowledgement.
func (l *least) Wait(ctx context.Context) error {
	if l.held == 0 {
		return nil
	}
	_, err := l.js.PublishMsg(ctx, &l.events[l.held-1])
	l.held = 0
	return err
}
