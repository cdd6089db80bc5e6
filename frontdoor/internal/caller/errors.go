package caller

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/integrity"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/retention"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/taskt/upkeep"
)

// Error says why a call has no result, as its caller sees it. Its JSON is
// {"error":{"code":…,"message":…}}.
type Error struct {
	Status  int    `json:"-"` // of HTTP; NATS services use the same numbers
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Body returns the error's form in an answer.
func (e *Error) Body() any {
	return struct {
		Error *Error `json:"error"`
	}{e}
}

// The errors of [Pool.Begin].
var (
	ErrBusy   = &Error{http.StatusTooManyRequests, "busy", "as many calls are open as this door takes, twice --max-children and 100 at least: try again later, or make calls in the background"}
	ErrClosed = &Error{http.StatusServiceUnavailable, "shutting_down", slots.ErrClosed.Error()}
)

// NotReady is the error of a call that needs the event store while that does not answer.
func NotReady(err error) *Error {
	return &Error{http.StatusServiceUnavailable, "not_ready", "the event store does not answer: " + errtext.Of(err)}
}

// BadRequest is the error of a request that can't be read.
func BadRequest(err error) error {
	var unknown *offer.UnknownAgentError
	if errors.As(err, &unknown) {
		return err
	}
	return &Error{http.StatusBadRequest, "bad_request", errtext.Of(err)}
}

// Explain returns err as a caller gets to see it. What is not meant for it
// becomes "internal" and goes to the log.
func Explain(err error, log *slog.Logger) *Error {
	var known *Error
	var unknown *offer.UnknownAgentError
	var incomplete *integrity.IncompleteError
	var input *control.InputError
	var resume *control.ResumeError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &input):
		return &Error{http.StatusBadRequest, "bad_request", errtext.Of(err)}
	case errors.Is(err, control.ErrRunning) || errors.Is(err, retention.ErrRunning):
		return &Error{http.StatusConflict, "running", err.Error()}
	case errors.As(err, &unknown):
		return &Error{http.StatusUnprocessableEntity, "unknown_agent", err.Error()}
	case errors.Is(err, slots.ErrClosed):
		return ErrClosed
	case errors.Is(err, slots.ErrFull):
		return &Error{http.StatusTooManyRequests, "full", err.Error()}
	case errors.Is(err, slots.ErrLost):
		return &Error{http.StatusServiceUnavailable, "lost", err.Error()}
	case errors.As(err, &resume):
		return &Error{http.StatusConflict, "not_resumed", errtext.Of(err)}
	case errors.As(err, new(*approval.WrongAnswerError)):
		return &Error{http.StatusUnprocessableEntity, "wrong_answer", err.Error()}
	case errors.As(err, &incomplete):
		return &Error{http.StatusGone, "incomplete", err.Error()}
	case errors.Is(err, record.ErrNotFound):
		return &Error{http.StatusNotFound, "not_found", err.Error()}
	case errors.As(err, new(*approval.SecondPersonError)):
		return &Error{http.StatusForbidden, "second_person", err.Error()}
	case errors.Is(err, record.ErrEnded):
		return &Error{http.StatusConflict, "ended", err.Error()}
	case errors.Is(err, requests.ErrConcludes):
		return &Error{http.StatusConflict, "concludes", err.Error()}
	case errors.As(err, new(*upkeep.RefusedError)):
		return &Error{http.StatusConflict, "not_done", errtext.Of(err)}
	case errors.As(err, new(*requests.RefusedError)):
		return &Error{http.StatusConflict, "not_moved", err.Error()}
	case errors.Is(err, requests.ErrNotSent):
		return &Error{http.StatusGatewayTimeout, "not_sent", err.Error()}
	case errors.Is(err, recovery.ErrNotStopped):
		return &Error{http.StatusGatewayTimeout, "not_stopped", err.Error()}
	case errors.Is(err, eventbus.ErrAway) || errors.Is(err, eventbus.ErrNoLeader):
		log.Warn("answering a call", "err", err)
		return NotReady(err)
	default:
		log.Error("answering a call", "err", err)
		return &Error{http.StatusInternalServerError, "internal", "something went wrong within the worker; its log says what"}
	}
}
