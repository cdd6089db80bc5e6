package httpserver

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// sessionHeader names the root session of a call in its answer.
const sessionHeader = "Agent-Session"

// taskAPI serves task calls, and the operations on what they have started.
type taskAPI struct {
	*Options
	calls *caller.Pool
}

// call makes a task call. If its request does not say what happens when its caller goes
// away, a call that waits for the document is then cancelled; one that follows the stream
// goes on, because its caller may come back to it. A call in the background is answered at
// once, and goes on.
func (s taskAPI) call(w http.ResponseWriter, r *http.Request) error {
	body, err := readJSON(w, r, maxTaskBody, ": make the attachments smaller, or name their paths in the workspace")
	if err != nil {
		return err
	}
	in, err := s.Tasks.ReadInput(body)
	if err != nil {
		return caller.BadRequest(err)
	}
	ctx, streamed := r.Context(), wantsEvents(r)
	detached, err := outlivesCaller(r, streamed)
	if err != nil {
		return caller.BadRequest(err)
	}
	background := s.Tasks.InBackground(in)
	if detached || background {
		ctx = context.WithoutCancel(ctx)
	}
	started, err := s.calls.Begin(ctx)
	if err != nil {
		return err
	}
	root, err := started.Open(byAs(r, "HTTP task "+in.AgentType))
	if err != nil {
		started.Done()
		return err
	}
	w.Header().Set(sessionHeader, root.ID())
	if streamed && !background {
		results := make(chan *taskt.Result, 1)
		go func() { // the pool waits for it
			defer started.Done()
			results <- started.Run(in)
		}()
		return s.stream(w, r, root, results)
	}
	var result *taskt.Result
	var finish func()
	if background {
		result, finish, err = started.Start(in)
	} else {
		result, finish = started.Wait(in)
	}
	defer func() {
		go func() { // the pool waits for it
			defer started.Done()
			finish()
		}()
	}()
	if err != nil {
		return err
	}
	status := http.StatusOK
	if result.Status == control.Accepted {
		status = http.StatusAccepted
	}
	return answer(w, status, result.Document())
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

// stream answers with the stream of a call's root session, then with the result.
func (s taskAPI) stream(w http.ResponseWriter, r *http.Request, root *session.Session, results <-chan *taskt.Result) error {
	// The header names the session. One that has ended meanwhile is stored, too.
	if err := root.AwaitStored(r.Context()); err != nil && !errors.Is(err, eventbus.ErrEnded) {
		return err
	}
	out, err := startEvents(w)
	if err == nil {
		err = out.send(r.Context(), s.Bus.Follow(r.Context(), root.Path(), &eventbus.FollowOptions{Live: true}), s.Heartbeat)
	}
	if err == nil {
		doc := (<-results).Document() // it is there: the root session has ended
		err = out.sendJSON(doc.Type, doc)
	}
	if err != nil {
		out.fail(r.Context(), root.ID(), err, s.Logger)
	}
	return nil
}

// controlPath is where an operation is: task_wait at /v1/tasks/wait.
func controlPath(op *control.Operation) string {
	return "/v1/tasks/" + strings.TrimPrefix(op.Name, "task_")
}

// control returns the handler of an operation on the sessions of the workspace.
func (s taskAPI) control(op *control.Operation) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := readBody(w, r)
		if err != nil {
			return err
		}
		done, err := s.calls.Control(r.Context(), op, body, byAs(r, "an HTTP client"))
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, done)
	}
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
