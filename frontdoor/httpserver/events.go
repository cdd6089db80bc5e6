package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/record"
)

// events answers with the stream of a session from where the client left off.
func (s sessionAPI) events(w http.ResponseWriter, r *http.Request) error {
	from, fresh, err := resumeFrom(r)
	if err != nil {
		return caller.BadRequest(err)
	}
	record, err := s.record(r)
	if err != nil {
		return err
	}
	rest, err := s.Sessions.Integrity.Remaining(r.Context(), record, from)
	if err != nil {
		return err
	}
	if !rest.More || fresh && !rest.Live { // nothing will come
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	ctx := r.Context()
	if rest.Live && !rest.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, rest.Until)
		defer cancel()
	}
	var since uint64
	stream := s.Bus.Follow(ctx, record.Path, &eventbus.FollowOptions{From: from, Live: rest.Live})
	if fresh { // it begins before the answer does, whose begin tells the client so
		if since, stream, err = s.Sessions.Approvals.FollowNew(ctx, record.Path); err != nil {
			return err
		}
	}
	out, err := startEvents(w)
	if err == nil && r.Method != http.MethodHead {
		if fresh {
			err = out.position(since)
		}
		if err == nil {
			err = out.send(ctx, stream, s.Heartbeat)
		}
		if !fresh && r.Context().Err() == nil && (err == nil || ctx.Err() != nil) {
			ctx = r.Context()
			err = s.incomplete(ctx, record)
		}
	}
	if err != nil {
		out.fail(ctx, record.ID, err, s.Logger)
	}
	return nil
}

// incomplete returns an error if the stream of a session that has ended has no end
// any more.
func (s sessionAPI) incomplete(ctx context.Context, record *record.Record) error {
	rest, err := s.Sessions.Integrity.Remaining(ctx, record, 0)
	if err != nil || rest.Live || !record.Status.Ended() {
		return err
	}
	missing, err := s.Sessions.Integrity.Incomplete(ctx, record)
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
