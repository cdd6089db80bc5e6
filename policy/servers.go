package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// serverKind is what kind of servers a list is about.
type serverKind struct{ key, shown, forms string }

// The kinds of servers.
var (
	mcpServers = serverKind{"McpServers", "MCP servers", `{"serverName"}, {"serverCommand"} or {"serverUrl"}`}
	lspServers = serverKind{"LspServers", "language servers", `{"serverName"} or {"serverCommand"}`}
)

func (k serverKind) allowed() string { return "allowed" + k.key }
func (k serverKind) denied() string  { return "denied" + k.key }

// serverEntry is an entry of a list of servers: a name, a whole command line, or a pattern of URLs. The
// lists of MCP servers in Claude Code's managed settings have the same form.
type serverEntry struct {
	name    string
	command []string
	url     *glob.Glob
}

// has reports whether the entry means a server. argv is empty for one that is called by its URL.
func (e *serverEntry) has(name string, argv []string, url string) bool {
	switch {
	case e.name != "":
		return strings.EqualFold(e.name, name)
	case e.command != nil:
		return slices.Equal(e.command, argv)
	}
	return url != "" && e.url.Match(url)
}

// serverList is what one file says of servers of a kind.
type serverList struct {
	kind    serverKind
	source  permission.Source
	deny    bool
	entries []serverEntry
}

// AllowsServer returns an error if a file forbids an MCP server: one of "deniedMcpServers"
// means it, or "allowedMcpServers" is there and none of it does.
func (p *Policy) AllowsServer(name string, argv []string, url string) error {
	return p.allows(mcpServers, name, argv, url)
}

// AllowsLanguageServer is AllowsServer for a language server, "deniedLspServers" and
// "allowedLspServers".
func (p *Policy) AllowsLanguageServer(name string, argv []string) error {
	return p.allows(lspServers, name, argv, "")
}

func (p *Policy) allows(kind serverKind, name string, argv []string, url string) error {
	if p == nil {
		return nil
	}
	for _, l := range p.servers {
		if l.kind != kind {
			continue
		}
		found := slices.ContainsFunc(l.entries, func(e serverEntry) bool { return e.has(name, argv, url) })
		switch {
		case l.deny && found:
			return fmt.Errorf("the policy forbids it (%s: %s)", l.source, kind.denied())
		case !l.deny && !found:
			return fmt.Errorf("the policy does not have it (%s: %s)", l.source, kind.allowed())
		}
	}
	return nil
}

// serversOf returns a function that reads a list of servers.
func serversOf(kind serverKind, deny bool) func(*reader, *hujson.Value) error {
	return func(r *reader, v *hujson.Value) error {
		array, ok := v.Value.(*hujson.Array)
		if !ok {
			return r.refuse(v, "want a list of %s", kind.forms)
		}
		l := serverList{kind: kind, source: r.at(v), deny: deny}
		for i := range array.Elements {
			e, err := r.serverEntry(kind, &array.Elements[i])
			if err != nil {
				return err
			}
			l.entries = append(l.entries, e)
		}
		r.policy.servers = append(r.policy.servers, l)
		return nil
	}
}

// serverEntry reads one entry.
func (r *reader) serverEntry(kind serverKind, v *hujson.Value) (e serverEntry, err error) {
	object, ok := v.Value.(*hujson.Object)
	if !ok || len(object.Members) != 1 {
		return e, r.refuse(v, "want an object with one key: %s", kind.forms)
	}
	key, value := object.Members[0].Name.Value.(hujson.Literal).String(), &object.Members[0].Value
	text, isText := value.Value.(hujson.Literal)
	isText = isText && text.Kind() == '"' && text.String() != ""
	switch {
	case key == "serverName" && isText:
		e.name = text.String()
	case key == "serverUrl" && isText && kind == mcpServers:
		if e.url, err = glob.Compile(text.String()); err != nil {
			return e, r.refuse(value, "serverUrl: %v", err)
		}
	case key == "serverCommand":
		words, ok := value.Value.(*hujson.Array)
		if !ok || len(words.Elements) == 0 {
			return e, r.refuse(value, "serverCommand: want the whole command line, a list of its words")
		}
		for i := range words.Elements {
			word, ok := words.Elements[i].Value.(hujson.Literal)
			if !ok || word.Kind() != '"' {
				return e, r.refuse(&words.Elements[i], "serverCommand: want a text")
			}
			e.command = append(e.command, word.String())
		}
	default:
		return e, r.refuse(value, "%s: want %s, with a text, or a list of texts below serverCommand", key, kind.forms)
	}
	return e, nil
}

// serverLines says for people what is said of servers.
func (p *Policy) serverLines() []string {
	var lines []string
	for _, l := range p.servers {
		word := "allowed: "
		if l.deny {
			word = "denied: "
		}
		var names []string
		for _, e := range l.entries {
			switch {
			case e.name != "":
				names = append(names, e.name)
			case e.command != nil:
				names = append(names, strings.Join(e.command, " "))
			default:
				names = append(names, e.url.String())
			}
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		lines = append(lines, fmt.Sprintf("%s %s%s (%s)", l.kind.shown, word, strings.Join(names, ", "), l.source))
	}
	return lines
}
