package instructions

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// Kinds of instructions: whose they are, or which program's files have them.
const (
	User       = "user"        // the user's own, below the configuration folder
	ClaudeUser = "claude-user" // the user's, of Claude Code
	Agents     = "agents"      // AGENTS.md
	Claude     = "claude"
	Copilot    = "copilot"
	Cursor     = "cursor"
	Kiro       = "kiro"
)

// Kinds are all kinds, in the order in which their files are given.
func Kinds() []string { return []string{User, ClaudeUser, Agents, Claude, Copilot, Cursor, Kiro} }

// Default are the kinds that are read unless a user says otherwise: all but what another program
// keeps of the user.
func Default() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool { return kind == ClaudeUser })
}

// named is a file of a kind, by its path.
type named struct{ kind, path string }

// names are the files that any folder may have. They are about all that is below it.
var names = []named{{Agents, "AGENTS.md"}, {Claude, "CLAUDE.md"}}

// tops are the files about all of a workspace, in their order.
var tops = []named{{Agents, "AGENTS.md"}, {Claude, "CLAUDE.md"}, {Claude, ".claude/CLAUDE.md"}, {Copilot, ".github/copilot-instructions.md"}}

// form is how a program keeps rules: a folder of files, whose frontmatter says what they are
// about.
type form struct {
	kind, folder, suffix string

	// anchored says that a pattern without a slash matches only files of the top folder. It
	// matches files of all folders otherwise.
	anchored bool

	scope func(f *fields) scope
}

// forms are the folders of rules, in their order. docs/reference/instructions.md names the
// documentation of each.
var forms = []form{
	{Claude, ".claude/rules", ".md", true, func(f *fields) scope { return about(f.patterns("paths")) }},
	{Cursor, ".cursor/rules", ".mdc", false, func(f *fields) scope {
		globs := f.patterns("globs")
		switch {
		case f.text("alwaysapply") == "true":
			return scope{}
		case len(globs) > 0:
			return scope{patterns: globs}
		}
		return scope{never: "it is for those who name it"}
	}},
	{Copilot, ".github/instructions", ".instructions.md", true, func(f *fields) scope {
		to := f.patterns("applyto")
		switch {
		case f.text("excludeagent") == "coding-agent":
			return scope{never: "it is not for agents that write code (excludeAgent)"}
		case len(to) == 0:
			return scope{never: "it has no applyTo"}
		case len(to) == 1 && to[0] == "*": // as Copilot reads it
			return scope{}
		}
		return about(to)
	}},
	{Kiro, ".kiro/steering", ".md", false, func(f *fields) scope {
		switch f.text("inclusion") {
		case "", "always":
			return scope{}
		case "filematch":
			return scope{patterns: f.patterns("filematchpattern"), some: true}
		}
		return scope{never: "it is for those who name it"}
	}},
}

// scope is what a file of rules is about.
type scope struct {
	never    string   // why it is given to nobody; empty means it is given
	patterns []string // of the files
	some     bool     // it is about some files, though there may be no pattern
}

// all reports whether the rules are about all files.
func (s *scope) all() bool { return s.never == "" && len(s.patterns) == 0 && !s.some }

// about is the scope of patterns, or of all files if there is none.
func about(patterns []string) scope {
	for _, p := range patterns {
		if p == "**" || p == "**/*" {
			return scope{}
		}
	}
	return scope{patterns: patterns}
}

// scopeFields are the fields by which rules say what they are about.
var scopeFields = agentfile.NewVocabulary([]*agentfile.Field{
	{ID: "paths", Spellings: []string{"paths"}, Textual: true},
	{ID: "globs", Spellings: []string{"globs"}, Textual: true},
	{ID: "alwaysapply", Spellings: []string{"alwaysApply"}, Textual: true},
	{ID: "applyto", Spellings: []string{"applyTo"}, Textual: true},
	{ID: "excludeagent", Spellings: []string{"excludeAgent"}, Textual: true},
	{ID: "inclusion", Spellings: []string{"inclusion"}, Textual: true},
	{ID: "filematchpattern", Spellings: []string{"fileMatchPattern"}, Textual: true},
	{ID: "description", Spellings: []string{"description", "name"}, Each: true, Textual: true},
})

// fields are those of one file.
type fields struct {
	reader *agentfile.Reader
	byID   map[string]agentfile.Entry
	broken bool // one that says what the file is about can't be read
}

// parse cuts a file of rules into its fields and its body, which begins in a line, from 1. why
// says that it can't be read.
func parse(name string, data []byte) (f *fields, body string, line int, why *diag.Diagnostic) {
	r := &agentfile.Reader{Reporter: &diag.Reporter{File: name}, Fields: scopeFields}
	f = &fields{reader: r, byID: make(map[string]agentfile.Entry)}
	head, ok := r.Header(data)
	if ok && !r.Refused {
		for _, e := range r.Unique(r.Entries(head)) {
			if e.Field != agentfile.Unknown {
				f.byID[e.Field.ID] = e
			}
		}
		body, line = head.Body, head.Below
	} else if body = text(data); !r.Refused {
		line = 1
	}
	if r.Refused {
		for _, d := range r.Found {
			if d.Severity == diag.Error {
				return nil, "", 0, &d
			}
		}
	}
	return f, body, line, nil
}

// text returns the value of a field in small letters; empty means it has none.
func (f *fields) text(id string) string {
	e, ok := f.byID[id]
	if !ok {
		return ""
	}
	text, ok := f.reader.Text(e)
	f.broken = f.broken || !ok
	return strings.ToLower(unquoted(text))
}

// patterns returns those of a field: a list, or a text with commas between them.
func (f *fields) patterns(id string) (all []string) {
	e, ok := f.byID[id]
	if !ok {
		return nil
	}
	if e.Node != nil && e.Node.Kind == yaml.SequenceNode {
		for _, n := range e.Node.Content {
			all = append(all, split(n.Value)...)
		}
		return all
	}
	text, ok := f.reader.Text(e)
	f.broken = f.broken || !ok
	if list, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(list, "]") { // Cursor's are no strict YAML
		text = strings.TrimSuffix(list, "]")
	}
	return split(text)
}

// split cuts a text at its commas outside of braces.
func split(text string) (all []string) {
	depth, from := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ',' && depth <= 0:
			if p := unquoted(text[from:i]); p != "" {
				all = append(all, p)
			}
			from = i + 1
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		}
	}
	return all
}

func unquoted(s string) string { return strings.Trim(strings.TrimSpace(s), `"'`) }
