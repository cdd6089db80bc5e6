package page

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// Lane is what a session did when, in the order of time.
type Lane struct {
	ID    string `json:"id"`
	Agent string `json:"agent,omitempty"`
	Label string `json:"label,omitempty"`
	Depth int    `json:"depth"`
	Spans []Span `json:"spans"`
}

// Span is a time in which the state of a session was the same.
type Span struct {
	State  event.Status `json:"state"`
	From   int64        `json:"from"`
	To     int64        `json:"to,omitempty"`     // 0 means it goes on
	Tokens int64        `json:"tokens,omitempty"` // of the model's answers in it
	Cost   json.Number  `json:"cost,omitempty"`   // what they cost, in US dollars; empty means it is not known

	seq  uint64 // of the event that it begins with
	used model.Usage
}

// Bounds of a timeline.
const (
	maxLanes = 200
	maxSpans = 500 // of a lane

	// maxKeptSpans bounds the spans of sessions that have ended which are kept: a timeline
	// is asked for again and again while one session of it runs.
	maxKeptSpans = 100_000
)

// timelines serves timelines.
type timelines struct {
	answers
	sessions *store.Store
	bus      *eventbus.Bus
	ended    cache[string, []Span] // by session: those of sessions that have ended
}

// serve answers with the lanes of a session and of those below it.
func (t *timelines) serve(w http.ResponseWriter, r *http.Request) {
	lanes, err := t.lanes(r.Context(), r.PathValue("id"))
	t.answer(w, struct {
		Lanes []Lane `json:"lanes"`
	}{lanes}, err)
}

func (t *timelines) lanes(ctx context.Context, id string) ([]Lane, error) {
	top, err := recordOf(ctx, t.sessions, id)
	if err != nil {
		return nil, err
	}
	tree, err := t.sessions.Index.Tree(ctx, top.Path)
	if err != nil {
		return nil, err
	}
	slices.Reverse(tree) // the oldest first
	lanes := []Lane{}
	for _, rec := range inOrder(tree, top) {
		if len(lanes) == maxLanes {
			break
		}
		lane := Lane{ID: rec.ID, Agent: rec.Agent, Label: termtext.OneLine(cmp.Or(rec.Label, rec.Description), termtext.MaxLabel), Depth: rec.Depth - top.Depth}
		if lane.Spans, err = t.spans(ctx, rec); err != nil {
			return nil, err
		}
		lanes = append(lanes, lane)
	}
	return lanes, nil
}

// inOrder returns records as a tree is read: each before those below it.
func inOrder(tree []*record.Record, top *record.Record) []*record.Record {
	below := make(map[string][]*record.Record)
	for _, rec := range tree {
		below[rec.ParentID] = append(below[rec.ParentID], rec)
	}
	var ordered []*record.Record
	var add func(rec *record.Record)
	add = func(rec *record.Record) {
		ordered = append(ordered, rec)
		for _, child := range below[rec.ID] {
			add(child)
		}
	}
	add(top)
	return ordered
}

// spans reads what a session did when.
func (t *timelines) spans(ctx context.Context, rec *record.Record) ([]Span, error) {
	if spans, ok := t.ended.get(rec.ID); ok {
		return spans, nil
	}
	spans := []Span{}
	for d, err := range t.bus.Stored(ctx, rec.Path, rec.Path, (event.StatusChange{}).Type(), 0) {
		if err != nil {
			return nil, err
		}
		ev, err := event.Decode(d.Raw)
		if err != nil {
			return nil, err
		}
		change, ok := ev.(event.StatusChange)
		n := len(spans)
		if !ok || n > 0 && spans[n-1].State == change.Status {
			continue
		}
		if n == maxSpans {
			break
		}
		if n > 0 {
			spans[n-1].To = millis(d.Time)
		}
		spans = append(spans, Span{State: change.Status, From: millis(d.Time), seq: d.Seq})
	}
	if err := t.addUsage(ctx, rec, spans); err != nil {
		return nil, err
	}
	if !rec.Status.Ended() {
		return spans, nil
	}
	if n := len(spans); n > 0 {
		spans[n-1].To = millis(rec.EndedAt)
	}
	t.ended.put(rec.ID, spans, len(spans)+1)
	return spans, nil
}

// addUsage adds to the spans what the model's answers in them have used.
func (t *timelines) addUsage(ctx context.Context, rec *record.Record, spans []Span) error {
	at := 0
	for d, err := range t.bus.Stored(ctx, rec.Path, rec.Path, (event.Usage{}).Type(), 0) {
		if err != nil {
			return err
		}
		ev, err := event.Decode(d.Raw)
		if err != nil {
			return err
		}
		for at+1 < len(spans) && spans[at+1].seq < d.Seq {
			at++
		}
		used, ok := ev.(event.Usage)
		if !ok || at >= len(spans) {
			continue
		}
		span := &spans[at]
		span.used = span.used.Add(model.Usage(used))
		span.Tokens, span.Cost = span.used.InputTokens+span.used.OutputTokens, span.used.Cost
	}
	return nil
}
