package event

import "time"

// Folds says what each type of event changes in a state S. Each type has a row: see
// [Folds.Missing].
type Folds[S any] map[string]func(s S, ev Event, at time.Time)

// On adds the row of the type E: what an event that was stored at a time changes.
func On[S any, E Event](f Folds[S], change func(s S, ev E, at time.Time)) {
	var zero E
	f[zero.Type()] = func(s S, ev Event, at time.Time) { change(s, ev.(E), at) }
}

// Nothing adds rows for events that change nothing.
func (f Folds[S]) Nothing(events ...Event) {
	for _, ev := range events {
		f[ev.Type()] = func(S, Event, time.Time) {}
	}
}

// Apply changes s by an event. One of a later version changes nothing.
func (f Folds[S]) Apply(s S, ev Event, at time.Time) {
	if change := f[ev.Type()]; change != nil {
		change(s, ev, at)
	}
}

// Missing returns the types without a row, sorted.
func (f Folds[S]) Missing() (types []string) {
	for _, t := range Types() {
		if f[t] == nil {
			types = append(types, t)
		}
	}
	return types
}
