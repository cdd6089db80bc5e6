package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// Kind is what a list of a policy is about: the key of the list.
type Kind string

// The kinds of what a policy may list. What a list does not name is forbidden.
const (
	Models       Kind = "models"       // PROVIDER/NAME, "offline" or "host", as aliases are resolved
	Providers    Kind = "providers"    // where models are called: scheme, host and port
	Doors        Kind = "doors"        // by which tasks come in
	AgentFolders Kind = "agentFolders" // from which agent files are read
)

// The doors of a worker.
const (
	DoorHTTP  = "http"      // on a loopback address
	DoorTLS   = "tls"       // on any other address
	DoorPage  = "page"      // for browsers
	DoorMCP   = "mcp"       // on stdin and stdout, and over HTTP
	DoorACP   = "acp"       // editors
	DoorNATS  = "nats"      // the service
	Workspace = "workspace" // the folder of agent files that a workspace has
	User      = "user"      // the user's own folder of agent files
)

// kinds says of each kind in words what it names, and which names there are; none means
// the list has patterns.
var kinds = []struct {
	kind  Kind
	what  string
	names []string
}{
	{Models, "model", nil},
	{Providers, "provider of models", nil},
	{Doors, "door", []string{DoorHTTP, DoorTLS, DoorPage, DoorMCP, DoorACP, DoorNATS}},
	{AgentFolders, "agent files from", nil},
}

// list is what one file allows of a kind.
type list struct {
	source   permission.Source
	patterns []pattern
}

type pattern struct {
	*glob.Glob
	source permission.Source
}

func (l list) String() string {
	var texts []string
	for _, p := range l.patterns {
		texts = append(texts, p.String())
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

func (l list) has(name string) bool {
	return slices.ContainsFunc(l.patterns, func(p pattern) bool { return p.Match(name) })
}

// ForbiddenError says that a list of the policy does not have a name.
type ForbiddenError struct {
	Kind   Kind
	Name   string
	Source permission.Source // of the list
	Has    string            // what the list has
}

func (e *ForbiddenError) Error() string {
	for _, k := range kinds {
		if k.kind == e.Kind {
			return fmt.Sprintf("the policy allows no %s %q (%s: %s is %s)", k.what, e.Name, e.Source, e.Kind, e.Has)
		}
	}
	return fmt.Sprintf("the policy forbids %q (%s)", e.Name, e.Source)
}

// Allows returns a [*ForbiddenError] if a file has a list of the kind without a pattern
// that matches the name.
func (p *Policy) Allows(kind Kind, name string) error {
	if p == nil {
		return nil
	}
	for _, l := range p.lists[kind] {
		if !l.has(name) {
			return &ForbiddenError{Kind: kind, Name: name, Source: l.source, Has: l.String()}
		}
	}
	return nil
}

// Lists reports whether a file has a list of the kind.
func (p *Policy) Lists(kind Kind) bool { return p != nil && len(p.lists[kind]) > 0 }

// CheckFolders returns an error about a wrong entry of "agentFolders": neither
// one of these words nor the pattern of an absolute path.
func (p *Policy) CheckFolders(words []string) error {
	if p == nil {
		return nil
	}
	words = append([]string{Workspace, User}, words...)
	for _, l := range p.lists[AgentFolders] {
		for _, at := range l.patterns {
			if name := at.String(); !strings.HasPrefix(name, "/") && !slices.Contains(words, name) {
				return &permission.SyntaxError{Source: at.source, Reason: fmt.Sprintf("agentFolders: unknown name %q%s (want an absolute path, or one of %s)",
					name, suggest.DidYouMean(name, words), strings.Join(words, ", "))}
			}
		}
	}
	return nil
}

// listOf returns a function that reads a list of a kind.
func listOf(kind Kind, what string, names []string) func(*reader, *hujson.Value) error {
	return func(r *reader, v *hujson.Value) error {
		array, ok := v.Value.(*hujson.Array)
		if !ok {
			return r.refuse(v, "%s: want a list of what is allowed", kind)
		}
		l := list{source: r.at(v)}
		for i := range array.Elements {
			e := &array.Elements[i]
			text, ok := e.Value.(hujson.Literal)
			if !ok || text.Kind() != '"' || text.String() == "" || strings.HasPrefix(text.String(), "!") {
				return r.refuse(e, "%s: want a text that names what is allowed", kind)
			}
			name := text.String()
			if len(names) > 0 && !slices.Contains(names, name) {
				return r.refuse(e, "%s: unknown %s %q%s (known: %s)", kind, what, name, suggest.DidYouMean(name, names), strings.Join(names, ", "))
			}
			if rest, ok := strings.CutPrefix(name, "~/"); ok && kind == AgentFolders {
				home, err := homeFolder()
				if err != nil {
					return r.refuse(e, "the home folder of this user is not known (%v): write an absolute path", err)
				}
				name = glob.Quote(home) + "/" + rest
			}
			compiled, err := glob.Compile(name)
			if err != nil {
				return r.refuse(e, "%s: %v", kind, err)
			}
			l.patterns = append(l.patterns, pattern{compiled, r.at(e)})
		}
		if r.policy.lists == nil {
			r.policy.lists = make(map[Kind][]list)
		}
		r.policy.lists[kind] = append(r.policy.lists[kind], l)
		return nil
	}
}

// listLines says for people what the lists allow, a line for each.
func (p *Policy) listLines() []string {
	var lines []string
	for _, k := range kinds {
		for _, l := range p.lists[k.kind] {
			lines = append(lines, fmt.Sprintf("%s: none but %s (%s)", k.kind, l, l.source))
		}
	}
	return lines
}
