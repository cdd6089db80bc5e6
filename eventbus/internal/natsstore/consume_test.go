package natsstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
	"github.com/agentworker/worker/eventbus/natstest"
)

// consumed is a store with the stream S, of which somebody consumes.
type consumed struct {
	*natsstore.Store
	conn *nats.Conn // of another client
	js   jetstream.JetStream
	got  chan *natsstore.Message
}

// consume begins to consume the subjects of S that begin with "a".
func consume(t *testing.T) *consumed {
	t.Helper()
	url := natstest.Start(t, server.Options{MaxPayload: 8 << 20}).ClientURL()
	store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.EnsureStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"a.*", "b.*"}}); err != nil {
		t.Fatal(err)
	}
	c := &consumed{Store: store, conn: natstest.Connect(t, url), js: natstest.JetStream(t, url), got: make(chan *natsstore.Message, 10_000)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := store.Consume(ctx, "S", []string{"a.*"}, natsstore.Start{}, 0, func(m *natsstore.Message) (bool, error) {
			c.got <- m
			return true, nil
		})
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it has ended: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *consumed) publish(t *testing.T, subject string, data []byte) {
	t.Helper()
	if _, err := c.js.Publish(t.Context(), subject, data); err != nil {
		t.Fatal(err)
	}
}

func (c *consumed) wants(t *testing.T, subject string, data []byte) {
	t.Helper()
	select {
	case m := <-c.got:
		if m.Subject != subject || !bytes.Equal(m.Data, data) {
			t.Fatalf("got %d bytes on %s, want %d on %s", len(m.Data), m.Subject, len(data), subject)
		}
	case <-time.After(time.Minute):
		t.Fatalf("nothing on %s", subject)
	}
}

// TestConsume: each message comes once and in order, of whatever size.
func TestConsume(t *testing.T) {
	t.Parallel()
	c := consume(t)
	sizes := []int{1, 0, 5 << 20, 10, 3 << 20, 3 << 20, 4 << 20, 1}
	for i := range 1500 { // more than one request is for
		sizes = append(sizes, i%7)
	}
	for i, size := range sizes {
		c.publish(t, "b.x", nil)
		c.publish(t, fmt.Sprintf("a.%d", i), bytes.Repeat([]byte("x"), size))
	}
	for i, size := range sizes {
		c.wants(t, fmt.Sprintf("a.%d", i), bytes.Repeat([]byte("x"), size))
	}
}

// TestConsumerIsGone: a reader that has lost its consumer makes another one.
func TestConsumerIsGone(t *testing.T) {
	t.Parallel()
	c := consume(t)
	stream, err := c.js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		subject := fmt.Sprintf("a.%d", i)
		c.publish(t, subject, []byte("text"))
		c.wants(t, subject, []byte("text"))
		for name := range stream.ConsumerNames(t.Context()).Name() {
			if err := stream.DeleteConsumer(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRequestEnds: a request that was open for its time is followed by another one.
func TestRequestEnds(t *testing.T) {
	t.Parallel() // it waits for 30 s, which a request lasts
	c := consume(t)
	requests, err := c.conn.SubscribeSync("$JS.API.CONSUMER.MSG.NEXT.S.*")
	if err != nil {
		t.Fatal(err)
	}
	c.publish(t, "a.1", []byte("text"))
	c.wants(t, "a.1", []byte("text"))
	if err := c.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for n, _, err := requests.Pending(); n > 0; n, _, err = requests.Pending() { // the first one
		if _, next := requests.NextMsg(time.Minute); err != nil || next != nil {
			t.Fatal(err, next)
		}
	}
	if _, err := requests.NextMsg(2 * time.Minute); err != nil {
		t.Fatalf("waiting for the next request: %v", err)
	}
	c.publish(t, "a.2", []byte("text"))
	c.wants(t, "a.2", []byte("text"))
}

// TestConsumeEnds: how reading ends, and where to continue.
func TestConsumeEnds(t *testing.T) {
	t.Parallel()
	c := consume(t)
	for i := range 10 {
		c.publish(t, fmt.Sprintf("a.%d", i), []byte("text"))
	}
	failed := errors.New("the reader has failed")
	for name, tt := range map[string]struct {
		silence time.Duration
		deliver func(*natsstore.Message) (bool, error)
		next    uint64
		err     error
	}{
		"wants no more": {0, func(m *natsstore.Message) (bool, error) { return m.Seq < 4, nil }, 5, nil},
		"fails":         {0, func(m *natsstore.Message) (bool, error) { return true, map[bool]error{true: failed}[m.Seq == 7] }, 8, failed},
		"is silent":     {100 * time.Millisecond, func(*natsstore.Message) (bool, error) { return true, nil }, 11, natsstore.ErrSilent},
	} {
		t.Run(name, func(t *testing.T) {
			next, err := c.Consume(t.Context(), "S", []string{"a.*"}, natsstore.Start{Seq: 2}, tt.silence, tt.deliver)
			if next.Seq != tt.next || !errors.Is(err, tt.err) {
				t.Errorf("%d, %v; want %d, %v", next.Seq, err, tt.next, tt.err)
			}
		})
	}
}
