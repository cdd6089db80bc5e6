// Package hidden keeps credentials from models. A model reads a placeholder, such as
// [secret:GITHUB:1], where the conversation has what looks like a credential ([secrets.Replace]).
// Tools whose calls stay on this machine get the credential back.
//
// A credential has the same placeholder in all sessions of a tree that run in one process. Each
// session notes in its log those that it has sent, so they are the same once another process
// resumes it. The conversation is stored as it is: only what is sent has placeholders, and what
// the model writes with them stays as the model has written it.
package hidden

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/model"
)

// Placeholder is what a model reads instead of a credential.
type Placeholder struct {
	Name       string `json:"name"`
	Credential string `json:"credential"`
}

// View is how the model of a session sees credentials. A nil View hides nothing. It is safe for
// concurrent use.
type View struct {
	tree *tree
	note func([]Placeholder) // called with those that a request has for the first time; nil means nobody needs to know

	mu    sync.Mutex
	noted map[string]bool
}

// tree has the placeholders that the sessions of a tree share.
type tree struct {
	mu      sync.Mutex
	names   map[string]string // by credential
	secrets map[string]string // by name; empty means that it is not known which one is meant
}

// New returns the view of a session below above, which is nil for a root.
func New(above *View, note func([]Placeholder)) *View {
	v := &View{note: note, noted: make(map[string]bool)}
	if above != nil {
		v.tree = above.tree
	} else {
		v.tree = &tree{names: make(map[string]string), secrets: make(map[string]string)}
	}
	return v
}

// Restore takes the placeholders of another process. One that means something else here means
// nothing from then on.
func (v *View) Restore(all []Placeholder) {
	if v == nil {
		return
	}
	t := v.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range all {
		if known, ok := t.secrets[p.Name]; ok && known != p.Credential {
			t.secrets[p.Name] = ""
			continue
		}
		t.secrets[p.Name] = p.Credential
		if _, ok := t.names[p.Credential]; !ok {
			t.names[p.Credential] = p.Name
		}
	}
}

// Request returns a request without credentials. The given one is not changed. What a model has thought
// can't be changed either, since it may be signed: with a credential in it, it is left out.
func (v *View) Request(req *model.Request) *model.Request {
	if v == nil {
		return req
	}
	var fresh []Placeholder
	name := func(kind, credential string) string {
		p := Placeholder{v.tree.name(kind, credential, req), credential}
		v.mu.Lock()
		defer v.mu.Unlock()
		if !v.noted[p.Name] {
			v.noted[p.Name] = true
			fresh = append(fresh, p)
		}
		return p.Name
	}
	known := v.tree.known()
	rest := func(s string) string { // a call of a file tool can write a credential behind a letter, which is no form of one
		for _, credential := range known {
			if strings.Contains(s, credential) {
				s = strings.ReplaceAll(s, credential, name("", credential))
			}
		}
		return s
	}
	text := func(s string) string {
		s = secrets.Replace(s, name)
		if parted := rest(s); parted != s {
			return secrets.Replace(parted, name) // what followed may be one of its own
		}
		return s
	}
	sent := *req
	sent.System = text(req.System)
	sent.Tools = slices.Clone(req.Tools)
	for i := range sent.Tools {
		t := &sent.Tools[i]
		t.Description = text(t.Description)
		if schema := rest(secrets.ReplaceJSON(string(t.InputSchema), name)); schema != string(t.InputSchema) {
			t.InputSchema = json.RawMessage(schema)
		}
	}
	sent.Messages = slices.Clone(req.Messages)
	for i := range sent.Messages {
		m := &sent.Messages[i]
		m.Text = text(m.Text)
		m.Reasoning = slices.DeleteFunc(slices.Clone(m.Reasoning), func(r model.Reasoning) bool {
			return text(r.Text) != r.Text
		})
		m.ToolCalls, m.ToolResults = slices.Clone(m.ToolCalls), slices.Clone(m.ToolResults)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Arguments = rest(secrets.ReplaceJSON(m.ToolCalls[j].Arguments, name))
		}
		for j := range m.ToolResults {
			m.ToolResults[j].Text = text(m.ToolResults[j].Text)
		}
	}
	if len(fresh) > 0 && v.note != nil {
		v.note(fresh)
	}
	return &sent
}

// minKnown is how many bytes a credential has that is looked for as a part of other words: a short
// password may be a word itself.
const minKnown = 16

// known returns the credentials that have placeholders, the longest first.
func (t *tree) known() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for credential := range t.names {
		if len(credential) >= minKnown {
			all = append(all, credential)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return all
}

// name returns the placeholder of a credential.
func (t *tree) name(kind, credential string, req *model.Request) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if name, ok := t.names[credential]; ok {
		return name
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("[secret:%s:%d]", kind, n)
		if _, taken := t.secrets[name]; taken || says(req, name) {
			continue
		}
		t.names[credential], t.secrets[name] = name, credential
		return name
	}
}

// says reports whether a conversation has a text, which then is the placeholder of another process or
// made up.
func says(req *model.Request, text string) bool {
	has := func(s string) bool { return strings.Contains(s, text) }
	return has(req.System) || slices.ContainsFunc(req.Messages, func(m model.Message) bool {
		return has(m.Text) || slices.ContainsFunc(m.ToolCalls, func(c model.ToolCall) bool { return has(c.Arguments) }) ||
			slices.ContainsFunc(m.ToolResults, func(r model.ToolResult) bool { return has(r.Text) })
	})
}

// placeholder matches one.
var placeholder = regexp.MustCompile(`\[secret:[A-Z_]+:[0-9]+\]`)

// PutBack returns the arguments of a call, which are JSON, with credentials in place of their
// placeholders. Those that are not known stay.
func (v *View) PutBack(args string) string {
	if v == nil || !strings.Contains(args, "[secret:") {
		return args
	}
	t := v.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	return placeholder.ReplaceAllStringFunc(args, func(name string) string {
		credential := t.secrets[name]
		if credential == "" {
			return name
		}
		quoted, err := json.Marshal(credential)
		if err != nil {
			return name
		}
		return string(quoted[1 : len(quoted)-1])
	})
}
