package agentfile

import (
	"encoding/json"
	"errors"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// Header finds the fields of a file: its frontmatter, or all of it where it is not
// Markdown.
func (p *Reader) Header(data []byte) (Header, bool) {
	text := p.decode(data)
	if line := conflict(text); line > 0 {
		p.Refuse(diag.MergeConflict, line, 0, "finish the merge", "the markers of a merge conflict begin here")
		return Header{}, false
	}
	var read func(string) (*yaml.Node, error)
	switch path.Ext(p.File) {
	case ".json":
		read = fromJSON
	case ".toml":
		read = fromTOML
	}
	if read == nil || path.Ext(p.File) != p.Dialect.Format {
		return p.split(text)
	}
	if len(text) > maxHeader {
		p.Refuse(diag.FileUnreadable, 1, 0, "shorten it", "the file is longer than %d KiB", maxHeader>>10)
		return Header{}, false
	}
	root, err := read(text)
	if err != nil {
		p.Refuse(diag.PermissionInvalid, 1, 0, "correct it", "the file cannot be read (%v), so nothing of it is served", err)
		return Header{}, false
	}
	return Header{Line: 1, Below: 1, Root: root}, true
}

// fromTOML reads a TOML file as the mapping that it is.
func fromTOML(text string) (*yaml.Node, error) {
	var values map[string]any
	meta, err := toml.Decode(text, &values)
	if err != nil {
		return nil, err
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	seen := map[string]bool{}
	for _, key := range meta.Keys() {
		name := key[0]
		if seen[name] {
			continue
		}
		seen[name] = true
		var value yaml.Node
		if err := value.Encode(values[name]); err != nil {
			return nil, err
		}
		line := 1
		if at := regexp.MustCompile(`(?m)^[ \t]*\[*[ \t]*["']?` + regexp.QuoteMeta(name)).FindStringIndex(text); at != nil {
			line += strings.Count(text[:at[0]], "\n")
		}
		at(&value, line)
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: line, Column: 1}, &value)
	}
	return root, nil
}

// at gives n and all in it a place.
func at(n *yaml.Node, line int) {
	n.Line, n.Column = line, 1
	n.Style &^= yaml.TaggedStyle
	for _, c := range n.Content {
		at(c, line)
	}
}

var errNoObject = errors.New("it is not a JSON object")

// fromJSON reads a JSON object as the mapping that it is, in the order of the
// file and with names that are there twice.
func fromJSON(text string) (*yaml.Node, error) {
	if !json.Valid([]byte(text)) { // said in the library's words
		var v any
		return nil, json.Unmarshal([]byte(text), &v)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	from, line := 0, 1
	var value func() (*yaml.Node, error)
	value = func() (*yaml.Node, error) {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		line += strings.Count(text[from:end], "\n")
		from = end
		n := &yaml.Node{Kind: yaml.ScalarNode, Line: line, Column: max(1, end-strings.LastIndexByte(text[:end], '\n')-1)}
		switch t := token.(type) {
		case json.Delim:
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
			if t == '[' {
				n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
			}
			for d.More() {
				c, err := value()
				if err != nil {
					return nil, err
				}
				n.Content = append(n.Content, c)
			}
			_, err := d.Token()
			return n, err
		case string:
			n.Tag, n.Value, n.Style = "!!str", t, yaml.DoubleQuotedStyle
		case json.Number:
			n.Tag, n.Value = "!!float", t.String()
		case bool:
			n.Tag, n.Value = "!!bool", "false"
			if t {
				n.Value = "true"
			}
		default:
			n.Tag, n.Value = "!!null", "null"
		}
		return n, nil
	}
	root, err := value()
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case root == nil || root.Kind != yaml.MappingNode:
		return nil, errNoObject
	}
	return root, nil
}
