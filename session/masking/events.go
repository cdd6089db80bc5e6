package masking

import (
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
)

// Event returns the event as others see it, and whether that differs. It does not change
// deltas: [Deltas] masks them.
func Event(ev event.Event) (shown event.Event, differs bool) {
	if masked, differs := ev.Masked(); differs {
		return masked, true
	}
	return ev, false
}

// Asked returns texts as the question to a person shows them.
func Asked(texts []string) []string { return each(texts, secrets.MaskAsked) }

// Always returns the patterns of an answer "always", or nil if masking changes one of them.
// A rule that nobody has seen is not made, and has no credential.
func Always(patterns []string) []string {
	if !slices.Equal(Asked(patterns), patterns) {
		return nil
	}
	return patterns
}

// each returns a new list with f of each item.
func each[T any](list []T, f func(T) T) []T {
	list = slices.Clone(list)
	for i, item := range list {
		list[i] = f(item)
	}
	return list
}
