// Package barepeer stores what a run of the worker stores, with JetStream alone: the
// messages of the event stream, with the same waits, and a follower that reads all
// events. No agent runs, and no event is encoded: it says what the storing alone costs
// of a run that keeps each of its events as a message.
//
// Where there is a choice it is the cheaper one. The audit log and the index of the
// records are left out. The children of a turn go from one wait to the next together,
// so that 100 of them wait as often as one. The follower is a subscription to the
// root's subject, not a consumer.
package barepeer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/eventbus"
)

// Open is the [scen.Peer]. It publishes asynchronously, and each message is
// acknowledged.
func Open(s *scen.Script) (scen.Agents, error) {
	return open(s, func(ctx context.Context, b *bare, msg *nats.Msg, wait bool) (seq uint64, err error) {
		ack, err := b.js.PublishMsgAsync(msg)
		if err != nil || !wait {
			return 0, err
		}
		select {
		case stored := <-ack.Ok():
			return stored.Sequence, nil
		case err := <-ack.Err():
			return 0, err
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	})
}

// Least is [Open] with plain publishes: only what is waited for is acknowledged.
func Least(s *scen.Script) (scen.Agents, error) {
	return open(s, func(ctx context.Context, b *bare, msg *nats.Msg, wait bool) (seq uint64, err error) {
		if !wait {
			return 0, b.bus.Conn().PublishMsg(msg)
		}
		ack, err := b.js.PublishMsg(ctx, msg)
		if err != nil {
			return 0, err
		}
		return ack.Sequence, nil
	})
}

// send publishes a message. With wait it returns when the message is stored, and its
// sequence number.
type send func(ctx context.Context, b *bare, msg *nats.Msg, wait bool) (seq uint64, err error)

type bare struct {
	recording *recording
	send      send
	dir       string        // of the store
	bus       *eventbus.Bus // for its server, and its stream
	js        jetstream.JetStream

	mu     sync.Mutex // one run at a time: the messages are the same
	runs   int
	stored uint64 // the sequence number of the last message
}

func open(s *scen.Script, by send) (scen.Agents, error) {
	b := &bare{send: by}
	if err := b.open(context.Background(), s); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *bare) open(ctx context.Context, s *scen.Script) (err error) {
	if b.recording, err = record(ctx, s); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bare-bench-"); err != nil {
		return err
	}
	if b.bus, err = eventbus.Open(ctx, workspace, &eventbus.Options{StoreDir: b.dir}); err != nil {
		return err
	}
	b.js, err = jetstream.New(b.bus.Conn())
	return err
}

// Close ends the server, and deletes the folder.
func (b *bare) Close() error {
	var err error
	if b.bus != nil {
		err = b.bus.Close()
	}
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

// Run stores the messages of a run, with new ids.
func (b *bare) Run(ctx context.Context, k *scen.Sink) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs++
	b.recording.renumber(b.runs)
	f, err := follow(b.bus.Conn(), b.recording.root(), k)
	if err != nil {
		return "", err
	}
	last, err := b.play(ctx)
	if err == nil {
		err = f.wait(ctx)
	}
	if err = errors.Join(err, f.stop()); err != nil {
		return "", err
	}
	if stored, want := last-b.stored, len(b.recording.messages); stored != uint64(want) || f.events != b.recording.events {
		return "", fmt.Errorf("%d of %d messages are stored, and %d of %d events were read", stored, want, f.events, b.recording.events)
	}
	b.stored = last
	return f.final.String(), nil
}

// play publishes the messages, and returns the sequence number of the last.
func (b *bare) play(ctx context.Context) (last uint64, err error) {
	for _, m := range b.recording.messages {
		msg := &nats.Msg{Subject: string(m.subject), Data: m.data}
		if m.id != nil { // a session's end: the store takes one
			msg.Header = nats.Header{jetstream.MsgIDHeader: {string(m.id)}, jetstream.ExpectedLastSubjSeqHeader: {"0"}}
		}
		if last, err = b.send(ctx, b, msg, m.wait); err != nil {
			return 0, fmt.Errorf("storing %s: %w", m.subject, err)
		}
	}
	return last, nil
}
