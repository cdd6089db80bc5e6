package page

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/gate"
)

// maxShownTexts bounds the texts of one call that a person is shown.
const maxShownTexts = 200

// Card is a tool call that waits, as a person decides about it.
type Card struct {
	ID        string     `json:"id"`
	SessionID string     `json:"sessionId"`
	Path      event.Path `json:"path"`
	Agent     string     `json:"agent,omitempty"`
	Tool      string     `json:"tool"`
	Reason    string     `json:"reason"`
	CreatedAt int64      `json:"createdAt"`
	ExpiresAt int64      `json:"expiresAt"`

	// Arguments are all of the call's, the one that it is about first. Wants is what the
	// rules see of it.
	Arguments []Argument `json:"arguments"`
	Wants     [][]Piece  `json:"wants"`

	// Complete says that all of the call is shown. Else there is no "always".
	Complete bool `json:"whole"`

	// Always are the rules that "always" adds, each a line of permissions.jsonc; empty means
	// there is no "always".
	Always []string `json:"always"`
}

// Argument is an argument of a call.
type Argument struct {
	Name string  `json:"name"`
	Text []Piece `json:"text"`
}

func newCard(a *approval.Approval) Card {
	c := Card{
		ID: a.ID, SessionID: a.SessionID, Path: a.Path, Agent: a.Agent, Tool: a.Tool, Reason: a.Reason,
		CreatedAt: millis(a.CreatedAt), ExpiresAt: millis(a.ExpiresAt), Wants: [][]Piece{}, Always: []string{},
	}
	c.Arguments, c.Complete = arguments(a.Arguments)
	for i, want := range a.Patterns {
		if i == maxShownTexts {
			c.Complete = false
			break
		}
		pieces, complete := visible(want, termtext.MaxCard)
		c.Wants, c.Complete = append(c.Wants, pieces), c.Complete && complete
	}
	if !c.Complete {
		return c
	}
	for _, pattern := range gate.AlwaysRules(a.AlwaysPatterns) {
		line, err := caller.JSON(map[string]map[string]string{a.Tool: {pattern: "allow"}})
		if err != nil { // texts always have a JSON form
			panic(err)
		}
		c.Always = append(c.Always, string(line))
	}
	return c
}

// mainArguments are the arguments that people look at first, in that order.
var mainArguments = []string{"command", "path", "url", "agentType", "pattern"}

// arguments returns the arguments of a call as a person reads them. complete false: there is
// more than is shown.
func arguments(raw string) (args []Argument, complete bool) {
	decoder := json.NewDecoder(strings.NewReader(raw))
	complete = true
	add := func(name, text string) {
		pieces, all := visible(text, termtext.MaxCard)
		args, complete = append(args, Argument{name, pieces}), complete && all
	}
	fields := map[string]json.RawMessage{}
	if err := decoder.Decode(&fields); err != nil {
		add("", raw) // as the model wrote it
		return args, complete
	}
	main := slices.DeleteFunc(slices.Clone(mainArguments), func(name string) bool { return fields[name] == nil })
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(name string) bool { return slices.Contains(main, name) })
	for _, name := range slices.Concat(main, rest) {
		text := string(fields[name])
		var plain string
		if json.Unmarshal(fields[name], &plain) == nil {
			text = plain
		} else {
			var indented bytes.Buffer
			if json.Indent(&indented, fields[name], "", "  ") == nil {
				text = indented.String()
			}
		}
		add(name, text)
	}
	if args == nil {
		args = []Argument{}
	}
	return args, complete
}
