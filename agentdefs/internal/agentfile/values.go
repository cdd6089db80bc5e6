package agentfile

import (
	"errors"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// Text returns the text of e; false if it is none. An empty value is an empty
// text.
func (p *Reader) Text(e Entry) (string, bool) {
	switch {
	case e.Node == nil && e.Field.Textual && e.Raw != "":
		return e.Raw, true
	case e.Node == nil:
		p.unparsed(e)
		return "", false
	case IsNull(e.Node):
		return "", true
	case e.Node.Kind == yaml.ScalarNode:
		return strings.TrimSpace(e.Node.Value), true
	}
	p.WrongType(e, "a text")
	return "", false
}

func (p *Reader) unparsed(e Entry) {
	p.Report(diag.FieldUnparsed, e.Line, e.Column, "write it as valid YAML without aliases", "%s cannot be read%s", e.Key, e.Field.consequence())
}

func (p *Reader) WrongType(e Entry, want string) {
	p.Report(diag.FieldType, e.Line, e.Column, "write "+want, "%s is not %s%s", e.Key, want, e.Field.consequence())
}

// consequence says what happens to a field whose value cannot be used.
func (f *Field) consequence() string {
	switch {
	case f.TakenAs != "":
		return ", and is taken as " + f.TakenAs
	case f.Strict:
		return ""
	}
	return ", and is ignored"
}

// Scalar returns the value of a plain or quoted scalar, trimmed; false, and
// reported, for anything else.
func (p *Reader) Scalar(e Entry, want string) (string, bool) {
	switch {
	case e.Node == nil:
		p.unparsed(e)
		return "", false
	case e.Node.Kind != yaml.ScalarNode || IsNull(e.Node):
		p.WrongType(e, want)
		return "", false
	}
	return strings.TrimSpace(e.Node.Value), true
}

// Int returns a whole number from least to most. A number beyond most is
// taken as most.
func (p *Reader) Int(e Entry, least, most int) (int, bool) {
	s, ok := p.Scalar(e, "a whole number")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // one out of range is the nearest int
		p.WrongType(e, "a whole number")
		return 0, false
	}
	switch {
	case n < least:
		p.Report(diag.FieldRange, e.Line, e.Column, "write a number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most), "%s is %s, less than %d, and is ignored", e.Key, spelling.Short(s), least)
		return 0, false
	case n > most:
		p.Report(diag.FieldRange, e.Line, e.Column, "write a number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most), "%s is %s; %d is used", e.Key, spelling.Short(s), most)
		return most, true
	}
	return n, true
}

// Float returns a number from 0 to most, nil if there is none.
func (p *Reader) Float(e Entry, most float64) *float64 {
	s, ok := p.Scalar(e, "a number")
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f {
		p.WrongType(e, "a number")
		return nil
	}
	if f < 0 || f > most {
		p.Report(diag.FieldRange, e.Line, e.Column, "write a number from 0 to "+strconv.FormatFloat(most, 'g', -1, 64), "%s is %s, out of range, and is ignored", e.Key, s)
		return nil
	}
	return &f
}

// Bool returns a yes or no, in YAML's spellings.
func (p *Reader) Bool(e Entry) (value, ok bool) {
	s, ok := p.Scalar(e, "true or false")
	if !ok {
		return false, false
	}
	value, ok = ParseBool(s)
	if !ok {
		p.WrongType(e, "true or false")
	}
	return value, ok
}

func ParseBool(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// Texts returns a list of texts; a single one may stand without a list.
func (p *Reader) Texts(e Entry) []string {
	if e.Node == nil {
		p.unparsed(e)
		return nil
	}
	items := []*yaml.Node{e.Node}
	if e.Node.Kind == yaml.SequenceNode {
		items = e.Node.Content
	}
	var out []string
	for _, n := range items {
		if n.Kind != yaml.ScalarNode {
			p.WrongType(e, "a list of words")
			return nil
		}
		for s := range strings.SplitSeq(n.Value, ",") {
			if s = strings.TrimSpace(s); s != "" && !IsNull(n) {
				out = append(out, s)
			}
		}
	}
	return out
}
