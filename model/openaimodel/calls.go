package openaimodel

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

// callDelta is a piece of a tool call.
type callDelta struct {
	Index    *number // nil means some servers leave it out
	ID       text
	Function struct {
		Name      text
		Arguments text
	}
}

// calls puts the tool calls of an answer together.
type calls struct {
	all []*call
}

// call is a tool call that is arriving.
type call struct {
	index     *number
	id, name  string
	arguments strings.Builder
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
	if target.name == "" {
		target.name = string(d.Function.Name)
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
		default:
			return known
		}
	}
	return nil
}

// whole reports whether there are calls, and the arguments of each are whole JSON.
func (c *calls) whole() bool {
	return len(c.all) > 0 && !slices.ContainsFunc(c.all, func(c *call) bool { return !json.Valid([]byte(c.arguments.String())) })
}

// unnamed is the tool of a call whose name is missing. There is no such tool, and the model
// reads that.
const unnamed = "unnamed"

// finish returns the calls, in the order of their beginnings. It makes up the
// ids that are missing or not unique, and missing names.
func (c *calls) finish() []model.ToolCall {
	var all []model.ToolCall
	seen := make(map[string]bool)
	for _, call := range c.all {
		if call.id == "" || seen[call.id] {
			call.id = "call_" + rand.Text()
		}
		seen[call.id] = true
		arguments := call.arguments.String()
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}"
		}
		all = append(all, model.ToolCall{ID: call.id, Name: cmp.Or(call.name, unnamed), Arguments: arguments})
	}
	return all
}
