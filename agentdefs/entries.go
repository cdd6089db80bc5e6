package agentdefs

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// entry is one top-level field of the frontmatter.
type entry struct {
	key          string // as written
	id           fieldID
	misspelled   bool
	line, column int // of the key, in the file

	// node is the value, its places being those in the file; nil: it is no
	// valid YAML, and raw has its text.
	node *yaml.Node
	raw  string
}

// entries reads the fields of the header in file order, each field once. Valid
// YAML is taken as it is; else the header is read entry by entry.
func (p *parser) entries(h header) []entry {
	root, err := h.root, error(nil)
	if root == nil {
		root, err = decodeYAML(h.text)
	}
	if err != nil {
		line := h.line + yamlLine(err) - 1
		if at, fault, fix := indentFault(h.text); at > 0 {
			p.report(codeYAMLInvalid, h.line+at-1, 0, fix, "the frontmatter is not valid YAML: %s", fault)
			return p.unique(p.recover(h))
		}
		p.report(codeYAMLInvalid, line, 0, "quote the text, or write it as a block: description: |", "the frontmatter is not valid YAML (%s)", yamlMessage(err))
		return p.unique(p.recover(h))
	}
	var out []entry
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		place(key, h.line-1, h.indent)
		place(value, h.line-1, h.indent)
		e := entry{key: key.Value, line: key.Line, column: key.Column, node: value}
		if key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0 {
			p.refuse(codePermissionInvalid, e.line, e.column, "write it as name: value", "a field's name is no plain word, so what it says cannot be read")
			continue
		}
		id, exact := fieldOf(e.key)
		e.id, e.misspelled = id, !exact
		if looks, ok := lookalike(e.key); ok && id == fieldUnknown {
			p.refuse(codePermissionInvalid, e.line, e.column, "write "+spellings[looks][0]+" in plain letters", "%s looks like %s and is not, so whether it is meant is not clear", shownKey(e.key), spellings[looks][0])
		}
		if hasAlias(value) {
			e.node = nil
		}
		out = append(out, e)
	}
	return p.unique(out)
}

// unique reports fields that are there twice and keeps the last of each, as
// YAML readers do. A field that guards is not guessed at.
func (p *parser) unique(in []entry) []entry {
	p.preapprove(in)
	last := make(map[string]int, len(in))
	name := func(e entry) string {
		switch e.id {
		case fieldUnknown, fieldKept:
			return e.key
		case fieldTimeoutMinutes:
			return string(fieldTimeoutSeconds)
		}
		return string(e.id)
	}
	for i, e := range in {
		last[name(e)] = i
	}
	var out []entry
	for i, e := range in {
		if final := last[name(e)]; final != i {
			if e.id.guards() {
				p.refuse(codePermissionInvalid, e.line, e.column, "keep one of them", "%s: and %s: in line %d say the same thing, and which one counts is not clear", e.key, in[final].key, in[final].line)
			} else {
				p.report(codeFieldDuplicate, e.line, e.column, "remove one of them", "%s is written again in line %d; the last one counts", e.key, in[final].line)
			}
			continue
		}
		out = append(out, e)
	}
	return out
}

var errNoMapping = errors.New("it is no list of name: value lines")

// decodeYAML parses text as one YAML document that is a mapping. Aliases are
// left as they are, so nothing can grow.
func decodeYAML(text string) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the library's own slips must not be ours
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	case err != nil:
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errNoMapping
	}
	return doc.Content[0], nil
}

// place moves the places of n by lines and columns.
func place(n *yaml.Node, lines, columns int) {
	n.Line += lines
	n.Column += columns
	for _, c := range n.Content {
		place(c, lines, columns)
	}
}

// hasAlias reports whether n refers to another part of the document.
func hasAlias(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return true
	}
	for _, c := range n.Content {
		if hasAlias(c) {
			return true
		}
	}
	return false
}

var yamlPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func yamlLine(err error) int {
	if m := yamlPrefix.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return 1
}

func yamlMessage(err error) string {
	s := err.Error()
	return s[len(yamlPrefix.FindString(s)):]
}
