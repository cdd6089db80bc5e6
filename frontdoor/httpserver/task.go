package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// sessionHeader names the root session of a call in its answer.
const sessionHeader = "Agent-Session"

// task makes a task call. Where its request does not say what is to happen when
// its caller goes away, one that waits for the document cancels it so; one that
// follows the stream may come back to it, so that the call goes on. A call in the
// background is answered at once, and goes on.
func (s *Server) task(w http.ResponseWriter, r *http.Request) {
	in, err := s.readCall(w, r)
	if err != nil {
		s.fail(w, err)
		return
	}
	ctx, streamed := r.Context(), wantsEvents(r)
	goesOn, err := outlivesCaller(r, streamed)
	if err != nil {
		s.fail(w, caller.BadRequest(err))
		return
	}
	beside := s.tasks.InBackground(in)
	if goesOn || beside {
		ctx = context.WithoutCancel(ctx)
	}
	call, err := s.calls.Begin(ctx)
	if err != nil {
		s.fail(w, err)
		return
	}
	root, err := call.Open(byAs(r, "HTTP task "+in.AgentType))
	if err != nil {
		call.Done()
		s.fail(w, err)
		return
	}
	w.Header().Set(sessionHeader, root.ID())
	if beside {
		result, finish, err := call.Start(in)
		go func() { // the pool waits for it
			defer call.Done()
			finish()
		}()
		if err != nil {
			s.fail(w, err)
			return
		}
		s.answer(w, statusOf(result), result.Document())
		return
	}
	if streamed {
		results := make(chan *taskt.Result, 1)
		go func() { // the pool waits for it
			defer call.Done()
			results <- call.Run(in)
		}()
		s.streamTask(w, r, root, results)
		return
	}
	result, finish := call.Wait(in)
	defer func() {
		go func() { // the pool waits for it
			defer call.Done()
			finish()
		}()
	}()
	s.answer(w, statusOf(result), result.Document())
}

// statusOf is the status of the answer with a result.
func statusOf(result *taskt.Result) int {
	if result.Status == control.Accepted {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// outlivesCaller reports whether a call goes on when its caller goes away.
func outlivesCaller(r *http.Request, streamed bool) (bool, error) {
	switch text := r.URL.Query().Get("onDisconnect"); text {
	case "":
		return streamed, nil
	case "continue":
		return true, nil
	case "cancel":
		return false, nil
	default:
		return false, fmt.Errorf("onDisconnect=%.40q is neither \"cancel\" nor \"continue\"", text)
	}
}

// streamTask answers with the stream of a call's root session, then with the
// result.
func (s *Server) streamTask(w http.ResponseWriter, r *http.Request, root *session.Session, results <-chan *taskt.Result) {
	if err := root.AwaitStored(r.Context()); err != nil { // the header names it
		s.fail(w, err)
		return
	}
	out, err := startEvents(w)
	if err == nil {
		err = s.send(r.Context(), out, s.bus.Follow(r.Context(), root.Path(), &eventbus.FollowOptions{Live: true}))
	}
	if err != nil {
		s.broken(r.Context(), out, root.ID(), err)
		return
	}
	doc := (<-results).Document() // it is there: the root session has ended
	data, err := caller.JSON(doc)
	if err == nil {
		err = errors.Join(out.result(doc.Type, data), out.flush())
	}
	if err != nil {
		s.broken(r.Context(), out, root.ID(), err)
	}
}

// readCall reads a task call.
func (s *Server) readCall(w http.ResponseWriter, r *http.Request) (taskt.Input, error) {
	body, err := s.readBody(w, r)
	if err != nil {
		return taskt.Input{}, err
	}
	in, err := s.tasks.ReadInput(body)
	if err != nil {
		return in, caller.BadRequest(err)
	}
	return in, nil
}

// readBody reads the body of a request, which is JSON.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &caller.Error{
			Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Message: "send JSON, with the header 'Content-Type: application/json'",
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &caller.Error{
			Status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Message: fmt.Sprintf("the body has more than %d bytes", tooLarge.Limit),
		}
	case err != nil:
		return nil, caller.BadRequest(fmt.Errorf("reading the body: %w", err))
	}
	// The request is here; what follows may take long.
	return body, http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// wantsEvents reports whether a client accepts a stream of events.
func wantsEvents(r *http.Request) bool {
	for _, accept := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(accept, ",") {
			if media, _, err := mime.ParseMediaType(kind); err == nil && media == "text/event-stream" {
				return true
			}
		}
	}
	return false
}
