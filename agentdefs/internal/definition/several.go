package definition

import (
	"errors"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/agentlist"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/errtext"

	"gopkg.in/yaml.v3"
)

// ParseList reads a file that holds several agents. found has the faults of the file as a whole.
// false: the file can't be read, and its agents are not known.
func ParseList(file string, form dialect.Form, data []byte, opts Options) (agents []Parsed, found []diag.Diagnostic, ok bool) {
	of, _ := dialect.Of(file)
	whole := &agentfile.Reader{Reporter: &diag.Reporter{File: file}, Dialect: of, Fields: vocabulary}
	opts.Open = bounded(opts.Open)
	entries, ok := agentlist.Read(whole, form, data)
	for _, e := range entries {
		agents = append(agents, parseEntry(file, e, of, opts))
	}
	return agents, whole.Found, ok
}

// parseEntry reads one agent of a list.
func parseEntry(file string, e agentlist.Entry, of dialect.Dialect, opts Options) Parsed {
	opts.called, opts.Dialect = e.Name, &of
	if e.File != "" && e.Fields != nil {
		return parseRole(file, e, opts)
	}
	p := newParser(file, opts)
	p.key = e.Key
	res := Parsed{File: file, Key: e.Key, Name: e.Name, Line: e.Line, Column: e.Column}
	if e.Fields == nil {
		p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "write it once, as a mapping of fields", "what %s is cannot be read, so nothing of it is served", e.Key)
		return p.result(res, opts)
	}
	p.definition(agentfile.Header{Line: e.Line, Below: e.Line, Root: e.Fields}, &res)
	return p.result(res, opts)
}

// parseRole reads a role of Codex, whose fields are in a file of their own. Where that does not
// describe the agent, the list does.
func parseRole(file string, e agentlist.Entry, opts Options) Parsed {
	var data []byte
	var shown string
	err := errNotRead
	if opts.Open != nil {
		data, shown, err = opts.Open(e.File, roleSuffixes)
	}
	if err != nil {
		p := newParser(file, opts)
		p.Refuse(diag.FileUnreadable, e.Line, e.Column, "correct the path", "the file %q that config_file of %s names cannot be read: %s", e.File, e.Key, errtext.Of(err))
		return p.result(Parsed{File: file, Key: e.Key, Name: e.Name, Line: e.Line, Column: e.Column}, opts)
	}
	for i := 0; i+1 < len(e.Fields.Content); i += 2 {
		key, value := e.Fields.Content[i], e.Fields.Content[i+1]
		if f, _ := vocabulary.Find(key.Value); f.ID == "description" && value.Kind == yaml.ScalarNode {
			opts.also = append(opts.also, agentfile.Entry{Key: key.Value, Field: f, Line: 1, Column: 1, Node: value})
		}
	}
	res := Parse(shown, data, opts)
	res.Key = e.Key
	return res
}

var errNotRead = errors.New("files that others name are not read here")
