package agentdefs

import (
	"errors"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// textOf returns the text of e; false if it is none. An empty value is an empty
// text.
func (p *parser) textOf(e entry) (string, bool) {
	switch {
	case e.node == nil && e.id.textual() && e.raw != "":
		return e.raw, true
	case e.node == nil:
		p.unparsed(e)
		return "", false
	case isNull(e.node):
		return "", true
	case e.node.Kind == yaml.ScalarNode:
		return strings.TrimSpace(e.node.Value), true
	}
	p.wrongType(e, "a text")
	return "", false
}

func (p *parser) unparsed(e entry) {
	p.report(codeFieldUnparsed, e.line, e.column, "write it as valid YAML without aliases", "%s cannot be read%s", e.key, inConsequence(e.id))
}

func (p *parser) wrongType(e entry, want string) {
	p.report(codeFieldType, e.line, e.column, "write "+want, "%s is not %s%s", e.key, want, inConsequence(e.id))
}

// inConsequence says what becomes of a field whose value cannot be used.
func inConsequence(id fieldID) string {
	switch id {
	case fieldDisable, fieldNoModelCall:
		return ", and is taken as true"
	case fieldInspectable, fieldInfer:
		return ", and is taken as false"
	case fieldReadonly: // the file is refused, which is said apart
		return ""
	}
	return ", and is ignored"
}

// scalarOf returns the value of a plain or quoted scalar, trimmed; false, and
// reported, for anything else.
func (p *parser) scalarOf(e entry, want string) (string, bool) {
	switch {
	case e.node == nil:
		p.unparsed(e)
		return "", false
	case e.node.Kind != yaml.ScalarNode || isNull(e.node):
		p.wrongType(e, want)
		return "", false
	}
	return strings.TrimSpace(e.node.Value), true
}

// intOf returns a whole number from least to most. A number beyond most is
// taken as most.
func (p *parser) intOf(e entry, least, most int) (int, bool) {
	s, ok := p.scalarOf(e, "a whole number")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // one out of range is the nearest int
		p.wrongType(e, "a whole number")
		return 0, false
	}
	switch {
	case n < least:
		p.report(codeFieldRange, e.line, e.column, "write a number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most), "%s is %s, less than %d, and is ignored", e.key, cutShort(s), least)
		return 0, false
	case n > most:
		p.report(codeFieldRange, e.line, e.column, "write a number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most), "%s is %s; %d is used", e.key, cutShort(s), most)
		return most, true
	}
	return n, true
}

// floatOf returns a number from 0 to most, nil if there is none.
func (p *parser) floatOf(e entry, most float64) *float64 {
	s, ok := p.scalarOf(e, "a number")
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f {
		p.wrongType(e, "a number")
		return nil
	}
	if f < 0 || f > most {
		p.report(codeFieldRange, e.line, e.column, "write a number from 0 to "+strconv.FormatFloat(most, 'g', -1, 64), "%s is %s, out of range, and is ignored", e.key, s)
		return nil
	}
	return &f
}

// boolOf returns a yes or no, in YAML's spellings.
func (p *parser) boolOf(e entry) (value, ok bool) {
	s, ok := p.scalarOf(e, "true or false")
	if !ok {
		return false, false
	}
	value, ok = parseBool(s)
	if !ok {
		p.wrongType(e, "true or false")
	}
	return value, ok
}

func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// textsOf returns a list of texts; a single one may stand without a list.
func (p *parser) textsOf(e entry) []string {
	if e.node == nil {
		p.unparsed(e)
		return nil
	}
	items := []*yaml.Node{e.node}
	if e.node.Kind == yaml.SequenceNode {
		items = e.node.Content
	}
	var out []string
	for _, n := range items {
		if n.Kind != yaml.ScalarNode {
			p.wrongType(e, "a list of words")
			return nil
		}
		for s := range strings.SplitSeq(n.Value, ",") {
			if s = strings.TrimSpace(s); s != "" && !isNull(n) {
				out = append(out, s)
			}
		}
	}
	return out
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}
