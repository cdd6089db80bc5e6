package model

import (
	"fmt"
	"time"
)

// ErrorKind sorts the failures of a model call by what can be done about them.
type ErrorKind string

// The kinds of errors.
const (
	ErrAuth        ErrorKind = "auth"         // the key is missing, wrong, or may not use the model
	ErrInvalid     ErrorKind = "invalid"      // the provider refuses this request
	ErrRateLimited ErrorKind = "rate_limited" // 429, after the adapter's own retries
	ErrUnavailable ErrorKind = "unavailable"  // 5xx, overloaded, no connection, cut off
	ErrProtocol    ErrorKind = "protocol"     // an answer that cannot be understood
	ErrTimeout     ErrorKind = "timeout"      // the call's time limit has passed
)

// Error is what an adapter yields when a call fails for another reason than the
// end of its context. It wraps its cause.
type Error struct {
	Model      string // the Model's name
	Kind       ErrorKind
	Status     int           // the HTTP status; 0 if the server did not answer
	RetryAfter time.Duration // what the provider asked to wait; 0 means it did not say
	Incomplete bool          // the answer ended before it was whole, or a part of it could not be read
	Code       string        // the provider's code or type of the error; may be empty
	Message    string        // the provider's words, or the adapter's; one line, without a key
	Err        error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Model, e.Message)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(", retry after %s", e.RetryAfter)
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
