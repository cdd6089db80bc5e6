package record

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
)

// ErrEnded is returned for a change of a session that has ended.
var ErrEnded = errors.New("the session has ended")

// ErrResumed is returned for a session that somebody else has already resumed.
var ErrResumed = errors.New("it was resumed already")

// EndedError says that the session had already ended. It is an [ErrEnded].
type EndedError struct{ Record *Record }

func (e *EndedError) Error() string {
	r := e.Record
	return fmt.Sprintf("session %s does not run: it is %s since %s", r.ID, r.Status, r.EndedAt.Local().Format(time.DateTime))
}

// Is reports whether target is [ErrEnded].
func (e *EndedError) Is(target error) bool { return target == ErrEnded }

// ErrNotFound is returned for a session or an approval that is not stored.
var ErrNotFound = errors.New("not found")

// ErrAmbiguous is returned for the beginning of several ids.
var ErrAmbiguous = errors.New("give more of the id")

// NotFoundError is an [ErrNotFound] that says what is not stored.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string {
	if len(e.ID) > event.MaxID {
		return fmt.Sprintf("no such %s: %.20q…, of %d bytes, is not an id: an id has at most %d bytes", e.What, e.ID, len(e.ID), event.MaxID)
	}
	return fmt.Sprintf("no such %s: %q", e.What, e.ID)
}

// Is reports whether target is [ErrNotFound].
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// Find returns the item whose id is prefix, or else the only one whose id begins with it.
func Find[T any](items []T, prefix, what string, id func(T) string) (none T, _ error) {
	var found []T
	for _, item := range items {
		switch {
		case id(item) == prefix:
			return item, nil
		case strings.HasPrefix(id(item), prefix):
			found = append(found, item)
		}
	}
	switch {
	case len(found) == 0 || prefix == "":
		return none, &NotFoundError{what, prefix}
	case len(found) == 1:
		return found[0], nil
	}
	return none, fmt.Errorf("%s is the start of %d %s ids (%s, …): %w", prefix, len(found), what, id(found[0]), ErrAmbiguous)
}
