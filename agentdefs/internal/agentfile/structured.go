package agentfile

import (
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
	var read Syntax
	switch path.Ext(p.File) {
	case ".json":
		read = JSON
	case ".toml":
		read = TOML
	}
	if read == nil || path.Ext(p.File) != p.Dialect.Format {
		return p.split(text)
	}
	root := p.document(text, maxHeader, read)
	return Header{Line: 1, Below: 1, Root: root}, root != nil
}

// Syntax reads a text as the mapping that it is, whose nodes have their places.
type Syntax func(text string) (*yaml.Node, error)

// maxDocument bounds the bytes of a file that holds several agents.
const maxDocument = 1 << 20

// Document reads a file of several agents, which is not Markdown. nil: it is refused. text is its
// decoded content.
func (p *Reader) Document(data []byte, read Syntax) (root *yaml.Node, text string) {
	text = p.decode(data)
	return p.document(text, maxDocument, read), text
}

func (p *Reader) document(text string, most int, read Syntax) *yaml.Node {
	if len(text) > most {
		p.Refuse(diag.FileUnreadable, 1, 0, "shorten it", "the file is longer than %d KiB", most>>10)
		return nil
	}
	root, err := read(text)
	if err != nil {
		p.Refuse(diag.PermissionInvalid, 1, 0, "correct it", "the file cannot be read (%v), so nothing of it is served", err)
		return nil
	}
	return root
}

// YAML is the syntax of a YAML document, without aliases.
func YAML(text string) (*yaml.Node, error) { return decodeYAML(text) }

// topName is the first part of a name of TOML, on the left of = or in the header of a table.
var topName = regexp.MustCompile(`(?m)^[ \t]*\[*[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))`)

// FirstLines returns where each name that a group of names matches is first, in one pass: lines count from 1.
func FirstLines(text string, names *regexp.Regexp) map[string]int {
	lines := make(map[string]int)
	line, counted := 1, 0
	for _, found := range names.FindAllStringSubmatchIndex(text, -1) {
		line, counted = line+strings.Count(text[counted:found[0]], "\n"), found[0]
		for i := 2; i < len(found); i += 2 {
			if found[i] < 0 {
				continue
			}
			if name := text[found[i]:found[i+1]]; lines[name] == 0 {
				lines[name] = line
			}
		}
	}
	return lines
}

// TOML is the syntax of a TOML file.
func TOML(text string) (*yaml.Node, error) {
	var values map[string]any
	meta, err := toml.Decode(text, &values)
	if err != nil {
		return nil, err
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	seen := map[string]bool{}
	lines := FirstLines(text, topName)
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
		line := max(lines[name], 1)
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
