package masking

import (
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
)

// Event returns the event as it is shown, and whether that differs. Deltas it returns as
// they are: [Deltas] masks them.
func Event(ev event.Event) (shown event.Event, differs bool) {
	if masked, differs := ev.Masked(); differs {
		return masked, true
	}
	return ev, false
}

// Asked returns texts as a person is asked about them.
func Asked(texts []string) []string { return each(texts, secrets.MaskAsked) }

// Always returns the patterns of an answer "always", or nil if one of them is shown masked: a
// rule that nobody has seen is not made, and has no credential.
func Always(patterns []string) []string {
	if !slices.Equal(Asked(patterns), patterns) {
		return nil
	}
	return patterns
}

// each returns the list with f of each item, as a list of its own.
func each[T any](list []T, f func(T) T) []T {
	list = slices.Clone(list)
	for i, item := range list {
		list[i] = f(item)
	}
	return list
}
