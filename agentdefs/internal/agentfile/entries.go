package agentfile

import (
	"cmp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// Entries reads the fields of the header in file order. Valid YAML is read as
// YAML; else the header is read field by field.
func (p *Reader) Entries(h Header) []Entry {
	root, err := h.Root, error(nil)
	if root == nil {
		root, err = decodeYAML(h.text)
	}
	if err != nil {
		line := h.Line + yamlLine(err) - 1
		if at, fault, fix := indentFault(h.text); at > 0 {
			p.Report(diag.YAMLInvalid, h.Line+at-1, 0, fix, "the frontmatter is not valid YAML: %s", fault)
			return p.recover(h)
		}
		p.Report(diag.YAMLInvalid, line, 0, "quote the text, or write it as a block: description: |", "the frontmatter is not valid YAML (%s)", yamlMessage(err))
		return p.recover(h)
	}
	var out []Entry
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if h.Root == nil {
			shift(key, h.Line-1, h.indent)
			shift(value, h.Line-1, h.indent)
		}
		e := Entry{Key: key.Value, Line: key.Line, Column: key.Column, Node: value}
		if key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0 {
			p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "write it as name: value", "a field's name is no plain word, so what it says cannot be read")
			continue
		}
		f, exact := p.Fields.Find(e.Key)
		e.Field, e.Misspelled = f, !exact
		if looks, ok := p.Fields.Lookalike(e.Key); ok && f == Unknown {
			p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "write "+looks.Spellings[0]+" in plain letters", "%s looks like %s and is not, so whether it is meant is not clear", spelling.Visible(e.Key), looks.Spellings[0])
		}
		if hasAlias(value) {
			e.Node = nil
		}
		out = append(out, e)
	}
	return out
}

// Unique reports fields that are there twice and returns the last of each, as
// YAML readers do. It refuses the file if such a field restricts.
func (p *Reader) Unique(in []Entry) []Entry {
	last := make(map[string]int, len(in))
	name := func(e Entry) string {
		if e.Field == Unknown || e.Field.Each {
			return e.Key
		}
		return cmp.Or(e.Field.Same, e.Field.ID)
	}
	for i, e := range in {
		last[name(e)] = i
	}
	var out []Entry
	for i, e := range in {
		if final := last[name(e)]; final != i {
			if e.Field.Restricts && !sameValue(e, in[final]) {
				p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "keep one of them", "%s: and %s: in line %d say the same thing, and which one counts is not clear", e.Key, in[final].Key, in[final].Line)
			} else {
				p.Report(diag.FieldDuplicate, e.Line, e.Column, "remove one of them", "%s is written again in line %d; the last one counts", e.Key, in[final].Line)
			}
			continue
		}
		out = append(out, e)
	}
	return out
}

// sameValue reports whether two entries of a field are written with equal values.
func sameValue(a, b Entry) bool {
	return a.Key == b.Key && a.Node != nil && b.Node != nil && sameNode(a.Node, b.Node)
}

// sameNode reports whether two values are equal, in the order and style in which they are written.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Kind != yaml.AliasNode && a.Tag == b.Tag && a.Value == b.Value && a.Style == b.Style &&
		slices.EqualFunc(a.Content, b.Content, sameNode)
}
