package stream

import (
	"context"
	"iter"

	"github.com/agentworker/worker/bench/workerpeer"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
)

// Worker is this project's way: a publisher, followers of the bus, and sessions of
// callers.
func Worker() (Way, error) {
	w, err := start()
	if err != nil {
		return nil, err
	}
	pub, err := w.Bus.Publisher(childPath)
	if err != nil {
		return nil, err
	}
	return &worker{Worker: w, pub: pub}, nil
}

type worker struct {
	*workerpeer.Worker
	pub    *eventbus.Publisher
	events []event.Event
}

func (w *worker) Prepare(events []event.Event) error { w.events = events; return nil }

func (w *worker) Publish(ctx context.Context, i int) error { return w.pub.Publish(ctx, w.events[i]) }

func (w *worker) Wait(ctx context.Context) error { return w.pub.Flush(ctx) }

func (w *worker) MaxFollowers() int { return 0 }

func (w *worker) Close() error {
	w.pub.Close()
	return w.Worker.Close()
}

func (w *worker) Follow(ctx context.Context, live bool) iter.Seq2[[]byte, error] {
	return w.follow(ctx, parentPath, live)
}

func (w *worker) follow(ctx context.Context, path event.Path, live bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for d, err := range w.Bus.Follow(ctx, path, &eventbus.FollowOptions{Live: live}) {
			if !yield(d.Raw, err) || err == nil && d.Ends() {
				return
			}
		}
	}
}

func (w *worker) Begin(ctx context.Context) (Session, error) {
	s, err := w.Tasks.OpenCaller(ctx, "bench", record.Owner)
	return &workerSession{w, s}, err
}

type workerSession struct {
	worker  *worker
	session *session.Session
}

func (s *workerSession) Follow(ctx context.Context) iter.Seq2[[]byte, error] {
	return s.worker.follow(ctx, s.session.Path(), true)
}

func (s *workerSession) End(context.Context) error { return s.session.End(record.Completed, nil) }
