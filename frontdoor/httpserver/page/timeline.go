package page

import (
	"context"
	"net/http"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
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
	State event.Status `json:"state"`
	From  int64        `json:"from"`
	To    int64        `json:"to,omitempty"` // 0 means it goes on
}

// Bounds of a timeline.
const (
	maxLanes = 200
	maxSpans = 500 // of a lane
)

// timeline answers with the lanes of a session and of those below it.
func (p *Page) timeline(w http.ResponseWriter, r *http.Request) {
	lanes, err := p.lanes(r.Context(), r.PathValue("id"))
	if err != nil {
		p.fail(w, err)
		return
	}
	p.answer(w, struct {
		Lanes []Lane `json:"lanes"`
	}{lanes})
}

func (p *Page) lanes(ctx context.Context, id string) ([]Lane, error) {
	top, err := p.record(ctx, id)
	if err != nil {
		return nil, err
	}
	tree, err := p.opts.Sessions.Tree(ctx, top.Path)
	if err != nil {
		return nil, err
	}
	slices.Reverse(tree) // the oldest first
	lanes := []Lane{}
	for _, rec := range inOrder(tree, top) {
		if len(lanes) == maxLanes {
			break
		}
		row := Row{}
		row.take(rec)
		lane := Lane{ID: rec.ID, Agent: rec.Agent, Label: termtext.OneLine(row.Label, maxLabel), Depth: rec.Depth - top.Depth}
		if lane.Spans, err = p.spans(ctx, rec); err != nil {
			return nil, err
		}
		lanes = append(lanes, lane)
	}
	return lanes, nil
}

// inOrder returns records as a tree is read: each before those below it.
func inOrder(tree []*store.Record, top *store.Record) []*store.Record {
	below := make(map[string][]*store.Record)
	for _, rec := range tree {
		below[rec.ParentID] = append(below[rec.ParentID], rec)
	}
	var ordered []*store.Record
	var add func(rec *store.Record)
	add = func(rec *store.Record) {
		ordered = append(ordered, rec)
		for _, child := range below[rec.ID] {
			add(child)
		}
	}
	add(top)
	return ordered
}

// spans reads the log of a session.
func (p *Page) spans(ctx context.Context, rec *store.Record) ([]Span, error) {
	spans := []Span{}
	for entry, err := range p.opts.Bus.Log(ctx, rec.Path) {
		if err != nil {
			return nil, err
		}
		if !entry.Event {
			continue
		}
		at := millis(entry.Time)
		end := func() {
			if n := len(spans); n > 0 && spans[n-1].To == 0 {
				spans[n-1].To = at
			}
		}
		switch entry.Kind {
		case (event.StatusChange{}).Type():
			ev, err := event.Decode(entry.Data)
			if err != nil {
				return nil, err
			}
			change, ok := ev.(event.StatusChange)
			if n := len(spans); !ok || n > 0 && (spans[n-1].State == change.Status || n == maxSpans) {
				continue
			}
			end()
			spans = append(spans, Span{State: change.Status, From: at})
		case (event.SessionEnd{}).Type():
			end()
		}
	}
	return spans, nil
}
