package log

import (
	"fmt"
	"iter"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// Fold returns the state that the entries of a log, from the first one on, describe. The
// log may end anywhere. Fold ignores entries after session_end, and unknown kinds. It
// returns an error for an entry that is unreadable, or that a worker of another schema has
// written.
func Fold(entries iter.Seq[Entry]) (*State, error) {
	f := &fold{groups: make(map[string]*group), calls: make(map[string]*group)}
	f.steps = make(map[string]int)
	f.Record = record.Record{Schema: record.Schema, Status: record.Queued}
	for e := range entries {
		if f.Record.Closed {
			break
		}
		if err := f.add(e); err != nil {
			return nil, fmt.Errorf("entry %d (%s) of the log: %w", e.Seq, e.Kind, err)
		}
	}
	f.finish()
	return &f.State, nil
}

// DecodeOpened returns the record of a session from the first entry of its log.
func DecodeOpened(e Entry) (*record.Record, error) {
	state, err := Fold(slices.Values([]Entry{e}))
	if err == nil && len(state.Record.Path) == 0 {
		err = fmt.Errorf("entry %d (%s) of a log: it has no path", e.Seq, e.Kind)
	}
	if err != nil {
		return nil, err
	}
	return &state.Record, nil
}

func (f *fold) add(e Entry) error {
	if e.Event && e.Kind == (event.SubagentEvent{}).Type() { // of a session below: not read
		f.pass(e.Time)
		return nil
	}
	if e.Kind != string(fenceKind) { // the session does nothing meanwhile
		defer f.pass(e.Time)
	}
	if !e.Event {
		if apply := entryFolds[e.Kind]; apply != nil {
			return apply(f, e)
		}
		return nil
	}
	ev, err := event.Decode(e.Data)
	if err != nil {
		return err
	}
	ev = f.unmaskedOf(ev)
	_, f.Record.Stalled = ev.(event.Stalled)
	eventFolds.Apply(f, ev, e.Time)
	return nil
}

// finish adds what only the end of the log shows.
func (f *fold) finish() {
	f.Unsettled.add(f.reserved, 1)
	for _, m := range f.Messages {
		m.SessionID = f.Record.ID
	}
	f.Partial, f.latest = f.lastText(), f.lastResult()
	for id, call := range f.deliveredBy {
		if g := f.calls[call]; g != nil && g.results[call].ToolCallID == call {
			f.deliver(id)
		}
	}
	for _, g := range f.order {
		if g.answer == nil {
			f.cutShort(g)
		}
	}
}
