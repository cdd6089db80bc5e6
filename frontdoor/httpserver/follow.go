package httpserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
)

// events answers with the stream of a session from where the client left off.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	from, fresh, err := resumeFrom(r)
	if err != nil {
		s.fail(w, caller.BadRequest(err))
		return
	}
	record, err := s.record(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	rest, err := s.sessions.Remaining(r.Context(), record, from)
	if err != nil {
		s.fail(w, err)
		return
	}
	if !rest.More || fresh && !rest.Live { // nothing will come
		w.WriteHeader(http.StatusNoContent)
		return
	}
	ctx := r.Context()
	if rest.Live && !rest.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, rest.Until)
		defer cancel()
	}
	var since uint64
	stream := s.bus.Follow(ctx, record.Path, &eventbus.FollowOptions{From: from, Live: rest.Live})
	if fresh { // it begins before the answer does, which so tells when
		if since, stream, err = s.sessions.FollowNew(ctx, record.Path); err != nil {
			s.fail(w, err)
			return
		}
	}
	out, err := startEvents(w)
	if err == nil && r.Method != http.MethodHead {
		if fresh {
			err = out.position(since)
		}
		if err == nil {
			err = s.send(ctx, out, stream)
		}
		if !fresh && r.Context().Err() == nil && (err == nil || ctx.Err() != nil) {
			ctx = r.Context()
			err = s.incomplete(ctx, record)
		}
	}
	if err != nil {
		s.broken(ctx, out, record.ID, err)
	}
}

// incomplete returns an error if the stream of a session that has ended has no end
// any more.
func (s *Server) incomplete(ctx context.Context, record *store.Record) error {
	rest, err := s.sessions.Remaining(ctx, record, 0)
	if err != nil || rest.Live || !record.Status.Ended() {
		return err
	}
	missing, err := s.sessions.Incomplete(ctx, record)
	if err == nil && missing != nil && missing.End {
		return missing
	}
	return err
}

// resumeFrom returns the first sequence number that the client wants; 0 means all.
// fresh: from now on, with the approvals that wait. What an EventSource has seen
// last counts more than what its address says.
func resumeFrom(r *http.Request) (from uint64, fresh bool, err error) {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		seq, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return 0, false, fmt.Errorf("the header Last-Event-ID: %q is not a sequence number", last)
		}
		return seq + 1, false, nil
	}
	switch text := r.URL.Query().Get("from"); text {
	case "":
		return 0, false, nil
	case "now":
		return 0, true, nil
	default:
		seq, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return 0, false, fmt.Errorf("from=%q is neither a sequence number nor \"now\"", text)
		}
		return seq, false, nil
	}
}

// send writes a session's stream up to its end. It returns early where the
// client does not take it, and where ctx ends.
func (s *Server) send(ctx context.Context, out *eventWriter, stream iter.Seq2[eventbus.Delivery, error]) error {
	ctx, cancel := context.WithCancel(ctx)
	q := newQueue()
	var reading sync.WaitGroup
	reading.Go(func() { q.end(read(ctx, stream, q)) })
	defer reading.Wait()
	defer cancel()

	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-q.ready:
			events, more, failed := q.take()
			for _, d := range events {
				if err := out.delivery(d); err != nil {
					return err
				}
			}
			if err := out.flush(); err != nil || !more {
				return errors.Join(failed, err)
			}
			q.written(events)
		case <-beat.C:
			out.beat()
			if err := out.flush(); err != nil {
				return err
			}
		}
	}
}

// read hands over a stream's deliveries up to the session's last one.
func read(ctx context.Context, stream iter.Seq2[eventbus.Delivery, error], to *queue) error {
	for d, err := range stream {
		if err != nil {
			return err
		}
		if err := to.put(ctx, d); err != nil {
			return err
		}
		if d.Ends() {
			return nil
		}
	}
	return nil
}

// broken ends a stream before its end. A client that is still there is told
// why, in an event without an id; it may resume.
func (s *Server) broken(ctx context.Context, out *eventWriter, sessionID string, why error) {
	if ctx.Err() != nil || errors.Is(why, errNotTaken) {
		s.log.Debug("a stream ended early", "session", sessionID, "err", why)
		return
	}
	data, err := caller.JSON(problem.Of(caller.Explain(why, s.log)))
	if err == nil {
		err = errors.Join(out.result("stream_error", data), out.flush())
	}
	if err != nil {
		s.log.Debug("a stream ended early", "session", sessionID, "err", err)
	}
}
