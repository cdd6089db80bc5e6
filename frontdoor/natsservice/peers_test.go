package natsservice_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/frontdoor/natsservice"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// desk is a model of one worker that counts its answers, which wait until they
// are let through one by one.
type desk struct {
	started chan *desk // takes the desk for each answer that has begun
	open    chan struct{}
	running atomic.Int32
	most    atomic.Int32
}

func (d *desk) model(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
	n := d.running.Add(1)
	defer d.running.Add(-1)
	if n > d.most.Load() {
		d.most.Store(n)
	}
	d.started <- d
	select {
	case <-d.open:
		return answer("through")(ctx, req, yield)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestCapacity: the calls of a workspace go to workers with a free slot, whatever worker
// NATS gives them to. If none has one, they wait for the first that does.
func TestCapacity(t *testing.T) {
	const workers, slots, extra = 3, 2, 5
	url := newServer(t)
	started := make(chan *desk, 100)
	var desks []*desk
	for range workers {
		d := &desk{started: started, open: make(chan struct{})}
		desks = append(desks, d)
		newWorker(t, url, d.model, taskt.Limits{Running: slots, PerParent: slots}, natsservice.Options{})
	}
	e := &env{t: t, client: natstest.Connect(t, url)}
	replies := make(chan *nats.Msg, 100)
	ask := func() { replies <- e.request(taskSubject, call, nil) }
	for range workers * slots {
		go ask()
	}
	for i := range workers * slots {
		select {
		case <-started:
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d calls have begun, though there is a slot for all", i, workers*slots)
		}
	}
	for range extra {
		go ask()
	}
	// Only one worker becomes free: it gets all calls that wait with any worker.
	for range extra {
		desks[0].open <- struct{}{}
		select {
		case d := <-started:
			if d != desks[0] {
				t.Error("a call has begun where there is no slot")
			}
		case <-time.After(time.Minute):
			t.Fatal("a slot is free, and calls that wait do not begin")
		}
	}
	for _, d := range desks {
		close(d.open)
	}
	for range workers*slots + extra {
		if doc := decode[taskt.Document](t, (<-replies).Data); doc.Status != record.Completed {
			t.Errorf("document %+v", doc)
		}
	}
	for i, d := range desks {
		if d.most.Load() > slots {
			t.Errorf("worker %d ran %d at once, it has %d slots", i, d.most.Load(), slots)
		}
	}
}

// TestWaitingShutdown: a worker that goes while calls wait with it answers them.
func TestWaitingShutdown(t *testing.T) {
	url := newServer(t)
	d := &desk{started: make(chan *desk, 10), open: make(chan struct{})}
	w := newWorker(t, url, d.model, taskt.Limits{Running: 1}, natsservice.Options{})
	e := &env{t: t, client: natstest.Connect(t, url)}
	inbox := e.client.NewInbox()
	replies, err := e.client.SubscribeSync(inbox)
	for range 3 {
		if err == nil {
			err = e.client.PublishRequest(taskSubject, inbox, []byte(call))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	<-d.started
	e.request("agents.v1.ws.service.agents", "", nil) // the worker's connection has got what came before
	w.stop()
	if err := w.service.Wait(); err != nil {
		t.Error(err)
	}
	cancelled, sent := 0, 0
	for range 3 {
		msg, err := replies.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case msg.Header.Get("Nats-Service-Error-Code") == "503":
			sent++
		case decode[taskt.Document](t, msg.Data).Status == record.Cancelled:
			cancelled++
		}
	}
	if cancelled != 1 || sent != 2 {
		t.Errorf("%d calls are cancelled and %d sent away, want 1 and 2", cancelled, sent)
	}
}
