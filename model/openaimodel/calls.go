package openaimodel

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// callDelta is a piece of a tool call.
type callDelta struct {
	Index    *openaiwire.Number // nil means some servers leave it out
	ID       openaiwire.Text
	Function functionDelta
	Extra    json.RawMessage `json:"extra_content"` // Gemini wants it back
}

type functionDelta struct {
	Name      openaiwire.Text
	Arguments openaiwire.Text
}

// calls puts the tool calls of an answer together.
type calls struct {
	all []*call
}

// call is a tool call that is arriving.
type call struct {
	index     *openaiwire.Number
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// add adds a piece to the call that it belongs to.
func (c *calls) add(d callDelta) {
	target := c.find(d)
	if target == nil {
		target = &call{index: d.Index}
		c.all = append(c.all, target)
	}
	if target.id == "" {
		target.id = string(d.ID)
	}
	switch name := string(d.Function.Name); {
	case strings.HasPrefix(name, target.name):
		target.name = name // it is repeated, or grows
	case target.arguments.Len() == 0 && target.name != name:
		target.name += name // it comes in pieces
	}
	if openaiwire.Says(d.Extra) {
		target.extra = d.Extra
	}
	target.arguments.WriteString(string(d.Function.Arguments))
}

// find returns the call that a piece belongs to; nil means it begins one. The index
// tells, as far as it can be trusted: some servers leave it out, and some send 0 for
// each call. A new id together with a name begins a call. Later pieces have neither, or
// repeat both. Some servers give each piece an id of its own, but then no name.
func (c *calls) find(d callDelta) *call {
	begins := d.Function.Name != ""
	for i := len(c.all) - 1; i >= 0; i-- {
		known := c.all[i]
		switch {
		case d.Index != nil && (known.index == nil || *known.index != *d.Index):
		case d.ID != "" && known.id != "" && string(d.ID) != known.id && begins: // another call
		case d.Index == nil && d.ID == "" && begins: // another call
		case begins && d.ID == "" && known.another(d): // Ollama
		default:
			return known
		}
	}
	if n := len(c.all); n > 0 && !begins && d.ID == "" { // some servers count the pieces
		return c.all[n-1]
	}
	return nil
}

// another reports whether a piece with a name is of another call, which has the index of this one.
func (c *call) another(d callDelta) bool {
	return c.arguments.Len() > 0 && (c.name != string(d.Function.Name) ||
		json.Valid([]byte(c.arguments.String())) && strings.HasPrefix(string(d.Function.Arguments), "{"))
}

// whole reports whether there are calls, and the arguments of each are whole JSON.
func (c *calls) whole() bool {
	return len(c.all) > 0 && !slices.ContainsFunc(c.all, func(c *call) bool { return !json.Valid([]byte(c.arguments.String())) })
}

// unnamed is the tool of a call whose name is missing. There is no such tool, and the model
// reads that.
const unnamed = "unnamed"

// finish returns the calls, in the order of their beginnings, and what the server wants back with
// each. It makes up the ids that are missing or not unique, and missing names.
func (c *calls) finish() (all []model.ToolCall, extras []json.RawMessage) {
	seen := make(map[string]bool)
	for _, call := range c.all {
		for i, arguments := range objects(call.arguments.String()) {
			id := call.id
			if id == "" || seen[id] {
				id = "call_" + rand.Text()
			}
			seen[id] = true
			all = append(all, model.ToolCall{ID: id, Name: cmp.Or(call.name, unnamed), Arguments: arguments})
			if i > 0 {
				call.extra = nil
			}
			extras = append(extras, call.extra)
		}
	}
	return all, extras
}

// objects returns the arguments of the calls under an index. There is one call, but some servers send
// several objects in a row: an empty one before the arguments, them twice, or those of several calls.
func objects(arguments string) []string {
	text := strings.TrimSpace(arguments)
	var encoded string // twice
	if json.Unmarshal([]byte(text), &encoded) == nil && strings.HasPrefix(strings.TrimSpace(encoded), "{") && json.Valid([]byte(encoded)) {
		text, arguments = encoded, encoded
	}
	var all []string
	dec := json.NewDecoder(strings.NewReader(text))
	for dec.More() {
		var object map[string]json.RawMessage
		begin := dec.InputOffset()
		if dec.Decode(&object) != nil || object == nil {
			return []string{cmp.Or(arguments, "{}")}
		}
		value := strings.TrimSpace(text[begin:dec.InputOffset()])
		if len(object) > 0 && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	switch len(all) {
	case 0:
		return []string{"{}"}
	case 1:
		if json.Valid([]byte(text)) {
			return []string{arguments} // as it came
		}
	}
	return all
}
