package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/tool"
)

// Bounds of what a server may ask a person.
const (
	maxFields      = 8
	maxMessage     = 1500 // characters
	maxChoices     = 20
	maxChoice      = 150 // characters
	maxElicitation = 10  // in one call
)

// elicit puts a question of the server to a person, as a question of the call that runs. A form is asked field by
// field. Nobody is asked for anything like a password.
func (c *connection) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	call := c.calls.newest()
	if call == nil || call.ask == nil {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	form, err := readForm(req.Params)
	if err == nil && !call.mayAsk() {
		err = fmt.Errorf("it has asked %d times in this call", maxElicitation)
	}
	if err != nil {
		call.note(fmt.Sprintf("The server wanted to ask a person, who was not asked: %s.", err))
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	defer call.clock.hold()()
	asking, cancel := context.WithCancel(call.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	content := map[string]any{}
	for _, f := range form.fields {
		reply, err := call.ask(asking, f.question(c.server.Name, form.message))
		switch {
		case err != nil:
			return nil, err
		case reply.Declined && !f.required && f.name != "":
			continue
		case reply.Declined:
			return &mcp.ElicitResult{Action: "decline"}, nil
		case len(reply.Answers) == 0:
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}
		value, err := f.value(reply.Answers)
		switch {
		case errors.Is(err, errNo):
			return &mcp.ElicitResult{Action: "decline"}, nil
		case err != nil:
			call.note(fmt.Sprintf("A person was asked by the server, and the answer is of no use to it: %s.", err))
			return &mcp.ElicitResult{Action: "decline"}, nil
		case f.name != "":
			content[f.name] = value
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// form is what a server asks at once.
type form struct {
	message string
	fields  []field
}

// field is one thing that a server asks. Without a name it asks only for a yes.
type field struct {
	name, kind string
	about      string // what the server says of it
	choices    []string
	values     []any // of the choices
	many       bool  // of the choices
	required   bool
}

// schema is what a field's schema may have.
type schema struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Format      string   `json:"format"`
	Enum        []any    `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []choice `json:"oneOf"`
	AnyOf       []choice `json:"anyOf"`
	Items       *schema  `json:"items"`
}

type choice struct {
	Const any    `json:"const"`
	Title string `json:"title"`
}

// secretWords are what a field must not ask for.
var secretWords = regexp.MustCompile(`(?i)pass[\s_-]?(word|wd|phrase|code|key)|\bpwd\b|secret|credential|token|api[\s_-]?key|private[\s_-]?key|access[\s_-]?key|\bpin\b|\botp\b|2fa|\bmfa\b|one[\s_-]?time|seed[\s_-]?phrase|mnemonic|\bcvv\b|\bcvc\b|card[\s_-]?number|\bssn\b|\biban\b`)

// camel parts words that are written in one.
var camel = regexp.MustCompile(`([a-z])([A-Z])`)

// readForm returns what a server asks. The error says why nobody is asked.
func readForm(p *mcp.ElicitParams) (*form, error) {
	switch {
	case p == nil:
		return nil, errors.New("it asks nothing")
	case p.Mode == "url" || p.URL != "":
		return nil, errors.New("it wants a page to be opened, which is not done here")
	}
	raw, err := json.Marshal(p.RequestedSchema)
	if err != nil || len(raw) > maxSchema {
		return nil, errors.New("its form can't be read")
	}
	var s struct {
		Properties map[string]schema `json:"properties"`
		Required   []string          `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, errors.New("its form can't be read")
	}
	f := &form{message: termtext.Cut(strings.TrimSpace(termtext.Printable(p.Message)), maxMessage)}
	if len(s.Properties) > maxFields {
		return nil, fmt.Errorf("it asks for %d things at once, and may ask for %d", len(s.Properties), maxFields)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		read, err := readField(name, s.Properties[name])
		if err != nil {
			return nil, err
		}
		read.required = slices.Contains(s.Required, name)
		if secret := secretWords.FindString(words(name + " " + read.about + " " + p.Message)); secret != "" && len(read.choices) == 0 {
			return nil, fmt.Errorf("it asks for what looks like a password (%q)", termtext.OneLine(secret, termtext.MaxColumn))
		}
		f.fields = append(f.fields, *read)
	}
	if len(f.fields) == 0 {
		f.fields = []field{{kind: "boolean", choices: []string{"yes", "no"}, values: []any{true, false}, required: true}}
	}
	return f, nil
}

func words(text string) string { return camel.ReplaceAllString(text, "$1 $2") }

func readField(name string, s schema) (*field, error) {
	f := &field{name: name, kind: s.Type, about: termtext.OneLine(strings.TrimSpace(s.Title+" "+s.Description), termtext.MaxCause)}
	if s.Format == "password" {
		f.about += " (password)"
	}
	values, titles := s.Enum, s.EnumNames
	options := s.OneOf
	switch s.Type {
	case "string", "number", "integer":
	case "boolean":
		values, titles = []any{true, false}, []string{"yes", "no"}
	case "array":
		f.many = true
		if s.Items == nil || len(s.Items.Enum)+len(s.Items.AnyOf) == 0 {
			return nil, fmt.Errorf("its field %q has no form that is known", termtext.OneLine(name, termtext.MaxName))
		}
		values, options = s.Items.Enum, s.Items.AnyOf
	default:
		return nil, fmt.Errorf("its field %q is no text, number, choice, yes or no", termtext.OneLine(name, termtext.MaxName))
	}
	for _, o := range options {
		values, titles = append(values, o.Const), append(titles, o.Title)
	}
	if len(values) > maxChoices {
		return nil, fmt.Errorf("its field %q has %d choices, and may have %d", termtext.OneLine(name, termtext.MaxName), len(values), maxChoices)
	}
	for i, v := range values {
		title := fmt.Sprint(v)
		if i < len(titles) && titles[i] != "" {
			title = titles[i]
		}
		title = termtext.OneLine(title, maxChoice)
		if title == "" || slices.Contains(f.choices, title) {
			return nil, fmt.Errorf("its field %q has two choices that look the same", termtext.OneLine(name, termtext.MaxName))
		}
		f.choices, f.values = append(f.choices, title), append(f.values, v)
	}
	if len(f.choices) == 1 {
		return nil, fmt.Errorf("its field %q has one choice", termtext.OneLine(name, termtext.MaxName))
	}
	return f, nil
}

// question is a field as a person is asked for it.
func (f *field) question(server, message string) tool.Inquiry {
	var b strings.Builder
	fmt.Fprintf(&b, "The MCP server %s asks. The words are its own:\n%s", termtext.OneLine(server, termtext.MaxServer), message)
	if f.name != "" {
		fmt.Fprintf(&b, "\n\n%s", termtext.OneLine(f.name, termtext.MaxName))
		if f.about != "" {
			b.WriteString(": " + f.about)
		}
		if f.kind == "number" || f.kind == "integer" {
			b.WriteString(" (a number)")
		}
		if !f.required {
			b.WriteString(" (decline to leave it out)")
		}
	}
	return tool.Inquiry{Question: b.String(), Options: f.choices, Multiple: f.many}
}

// errNo is a no where a yes was asked for.
var errNo = errors.New("no")

// value returns an answer as the server has asked for it.
func (f *field) value(answers []string) (any, error) {
	if f.many {
		chosen := []any{}
		for _, a := range answers {
			if i := slices.Index(f.choices, a); i >= 0 {
				chosen = append(chosen, f.values[i])
			}
		}
		return chosen, nil
	}
	answer := answers[0]
	if len(f.choices) > 0 {
		i := slices.Index(f.choices, answer)
		if i < 0 {
			return nil, errors.New("it is none of the choices")
		}
		if f.name == "" && f.values[i] == false {
			return nil, errNo
		}
		return f.values[i], nil
	}
	switch f.kind {
	case "integer":
		n, err := strconv.ParseInt(strings.TrimSpace(answer), 10, 64)
		if err != nil {
			return nil, errors.New("it is no whole number")
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(strings.TrimSpace(answer), 64)
		if err != nil {
			return nil, errors.New("it is no number")
		}
		return n, nil
	}
	return answer, nil
}
