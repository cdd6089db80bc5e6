package page

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

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

	// Ask is what the agent itself asks; nil means that it asks for permission.
	Ask *Ask `json:"ask,omitempty"`

	// Title says what the call would do: it follows "asks to". Parts are the texts to read before
	// an answer. Wants are the values of the rules that no text shows.
	Title string   `json:"title"`
	Parts []Part   `json:"parts"`
	Wants []string `json:"wants"`
	For   string   `json:"for,omitempty"` // the persons who asked for the work

	// LeftOut says what is not shown. Then there is no "always".
	LeftOut string `json:"leftOut,omitempty"`

	// Always are the rules that "always" adds, each a line of permissions.jsonc; empty means
	// there is no "always".
	Always []string `json:"always"`
}

// Ask is a question of an agent: its own words.
type Ask struct {
	Question []Piece  `json:"question"`
	Options  []string `json:"options"` // none: the answer is a text
	Multiple bool     `json:"multiple"`
	Default  string   `json:"default"`
	Note     string   `json:"note"` // of the page, for who answers
}

// Part is a text of a question. A diff has lines, another text has pieces.
type Part struct {
	Name string     `json:"name"`
	Form string     `json:"form"`
	Text []Piece    `json:"text,omitempty"`
	Diff []DiffLine `json:"diff,omitempty"`
}

func newCard(a *approval.Approval) Card {
	v := question.New(a, question.Page)
	c := Card{
		ID: a.ID, SessionID: a.SessionID, Path: a.Path, Agent: a.Agent, Tool: a.Tool, Reason: a.Reason,
		CreatedAt: millis(a.CreatedAt), ExpiresAt: millis(a.ExpiresAt),
		Title: v.Title, Parts: []Part{}, For: v.For, LeftOut: v.LeftOut,
		Wants: append([]string{}, v.Wants...), Always: append([]string{}, v.Always...),
	}
	if a.Ask != nil {
		c.Ask = &Ask{Options: append([]string{}, a.Ask.Options...), Multiple: a.Ask.Multiple, Default: v.Ask.Default, Note: question.Secrets}
		c.Ask.Question, _ = visible(a.Ask.Question, len(a.Ask.Question))
	}
	for _, p := range a.Question.Parts {
		part := Part{Name: p.Name, Form: p.Form}
		if p.Form == event.FormDiff {
			part.Diff = diffLines(p.Text)
		} else {
			part.Text, _ = visible(p.Text, len(p.Text))
		}
		c.Parts = append(c.Parts, part)
	}
	return c
}

// diffLines returns a unified diff as lines.
func diffLines(diff string) (lines []DiffLine) {
	ops := map[byte]string{'+': "add", '-': "del", '@': "at", '\\': "at"}
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		op, text := "same", line
		if line != "" {
			if o := ops[line[0]]; o != "" {
				op = o
			}
			if op != "at" {
				text = line[1:]
			}
		}
		pieces, _ := visible(text, len(text))
		lines = append(lines, DiffLine{op, pieces})
	}
	return lines
}

// Argument is an argument of a call.
type Argument struct {
	Name string  `json:"name"`
	Text []Piece `json:"text"`
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
