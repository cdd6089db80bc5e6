package responsesmodel

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// item is an item of an answer: a message, reasoning, a call, or one that is passed over.
type item struct {
	Type      string
	ID        openaiwire.Text
	CallID    openaiwire.Text `json:"call_id"`
	Name      openaiwire.Text
	Arguments openaiwire.Text
	Phase     openaiwire.Text
	Content   pieces
	Summary   pieces

	raw       json.RawMessage // of reasoning, once it is complete
	index     int             // -1 means it is not known
	id        string          // by which its events name it
	arguments string
	heard     string // of the text, as it came
	text      int    // bytes of text that were given
	part      int    // of the summary, the last that has come
	thinks    bool   // some of it has been shown
}

// UnmarshalJSON implements [json.Unmarshaler].
func (it *item) UnmarshalJSON(data []byte) error {
	type plain item
	if err := json.Unmarshal(data, (*plain)(it)); err != nil {
		return err
	}
	it.raw = slices.Clone(data)
	return nil
}

type piece struct{ Text, Refusal openaiwire.Text }

// pieces are the parts of a content.
type pieces []piece

// UnmarshalJSON implements [json.Unmarshaler]: a text is one part, and another form is none.
func (p *pieces) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil && text != "" {
		*p = pieces{{Text: openaiwire.Text(text)}}
		return nil
	}
	_ = json.Unmarshal(data, (*[]piece)(p))
	return nil
}

// take takes what an event says of the whole item.
func (it *item) take(got *item) {
	it.Type = cmp.Or(got.Type, it.Type)
	it.CallID, it.Name = cmp.Or(got.CallID, it.CallID), cmp.Or(got.Name, it.Name)
	it.Phase = cmp.Or(got.Phase, it.Phase)
	it.arguments = cmp.Or(string(got.Arguments), it.arguments)
	it.id = cmp.Or(it.id, string(got.ID))
	it.raw = got.raw
}

// items are those of an answer.
type items struct{ all []*item }

// find returns the item that an event is about; it begins one where there is none yet. The index
// tells, since some servers give each event another id; else the id does; else it is the last
// of its type.
func (s *items) find(e *event, kind string) *item {
	id := string(e.ItemID)
	if e.Item != nil {
		id = cmp.Or(string(e.Item.ID), id)
	}
	for i := len(s.all) - 1; i >= 0; i-- {
		it := s.all[i]
		switch {
		case it.Type != kind:
		case e.Index != nil && it.index >= 0:
			if it.index == int(*e.Index) {
				return it
			}
		case id != "" && it.id != "":
			if it.id == id {
				return it
			}
		case e.Item == nil || e.Item.raw == nil || it.raw == nil: // not the beginning of another
			return it
		}
	}
	it := &item{Type: kind, index: -1, id: id}
	if e.Index != nil {
		it.index = int(*e.Index)
	}
	s.all = append(s.all, it)
	return it
}

// missing returns a new item for one of the whole answer that has not come before; nil means it has.
func (s *items) missing(index int, got *item) *item {
	nth := 0 // items of the type before it
	for _, it := range s.all {
		if it.Type != got.Type {
			continue
		}
		same := it.id != "" && it.id == string(got.ID) || it.index == index || got.CallID != "" && it.CallID == got.CallID
		if same {
			if it.Type == "reasoning" && len(it.raw) < len(got.raw) { // the first event of it lacks what is encrypted
				it.raw = got.raw
			}
			it.arguments = cmp.Or(it.arguments, string(got.Arguments))
			return nil
		}
		nth++
	}
	if nth > 0 && got.Type == "message" { // its deltas had other ids
		return nil
	}
	it := &item{Type: got.Type, index: index, id: string(got.ID)}
	s.all = append(s.all, it)
	return it
}

// untold forgets the lengths of the texts so far, which were thoughts.
func (s *items) untold() {
	for _, it := range s.all {
		it.text = 0
	}
}

// unnamed is the tool of a call whose name is missing. There is no such tool, and the model
// reads that.
const unnamed = "unnamed"

// finish returns the calls, and the order of all items.
func (s *items) finish() (calls []model.ToolCall, order []sealedItem) {
	if !slices.ContainsFunc(s.all, func(it *item) bool { return it.index < 0 }) {
		slices.SortStableFunc(s.all, func(a, b *item) int { return cmp.Compare(a.index, b.index) })
	}
	seen := make(map[string]bool)
	for _, it := range s.all {
		switch it.Type {
		case "reasoning":
			if json.Valid(it.raw) {
				order = append(order, sealedItem{Reasoning: it.raw})
			}
		case "message":
			order = append(order, sealedItem{Text: it.text, Phase: string(it.Phase)})
		case "function_call":
			id := string(it.CallID)
			if id == "" || seen[id] {
				id = "call_" + rand.Text()
			}
			seen[id] = true
			arguments := it.arguments
			if strings.TrimSpace(arguments) == "" {
				arguments = "{}"
			}
			calls = append(calls, model.ToolCall{ID: id, Name: cmp.Or(string(it.Name), unnamed), Arguments: arguments})
			order = append(order, sealedItem{Call: true})
		}
	}
	return calls, order
}
