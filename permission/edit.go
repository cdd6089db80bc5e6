package permission

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/permission/glob"
	"github.com/tailscale/hujson"
)

// allowJSON returns the text of a permission file with rules added that allow
// the patterns of tool. They win over all others, except for rules that deny a
// part of them: the new rules go before these. Defaults that deny a part are
// added behind. The old text stays byte by byte.
// Only two things change to make room: a comma is added, or an action becomes
// the pattern "*".
func allowJSON(data []byte, file, tool string, patterns []string) ([]byte, error) {
	rules, err := ParseJSON(data, file, nil)
	if err != nil {
		return nil, err
	}
	bom := []byte("\uFEFF")
	body, hadBOM := bytes.CutPrefix(data, bom)
	root, err := hujson.Parse(body)
	if err != nil {
		return nil, err
	}
	e := editor{newline: "\n"}
	if bytes.Contains(body, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	e.indent = e.indentOf(&root)
	for _, pattern := range patterns {
		lifted, err := rules.Lifted(tool, pattern)
		defaults, derr := Defaults().Lifted(tool, pattern)
		if err = errors.Join(err, derr); err == nil && len(lifted) > 0 {
			err = e.allowBefore(&root, tool, pattern, lifted[0])
		} else if err == nil {
			err = e.put(&root, tool, pattern, Allow)
		}
		for _, deny := range defaults {
			if err == nil && !slices.ContainsFunc(lifted, func(r Rule) bool { return r.Pattern == deny.Pattern }) {
				err = e.put(&root, tool, deny.Pattern, Deny)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	out := root.Pack()
	if hadBOM {
		out = append(bom, out...)
	}
	return out, nil
}

// editor adds rules to a tree.
type editor struct {
	newline string
	indent  string // of the members of the root
}

// put adds one rule at the end.
func (e editor) put(root *hujson.Value, tool, pattern string, as Action) error {
	word := hujson.String(as.String())
	last, exact, behind, err := lastAbout(root, tool)
	if err != nil {
		return err
	}
	if last == nil || !exact || behind {
		rules := hujson.Value{Value: &hujson.Object{AfterExtra: hujson.Extra(e.newline + e.indent)}}
		e.add(&rules, e.indent+e.indent, pattern, hujson.Value{Value: word})
		if _, ok := root.Value.(*hujson.Array); ok {
			rules = hujson.Value{Value: &hujson.Array{}}
			e.add(&rules, "", pattern, hujson.Value{Value: word})
		}
		e.add(root, e.indent, glob.Quote(tool), rules)
		return nil
	}
	if action, ok := last.Value.(hujson.Literal); ok {
		if action.String() == as.String() {
			return nil
		}
		rules := hujson.Value{Value: &hujson.Object{AfterExtra: hujson.Extra(e.newline + e.indent)}}
		e.add(&rules, e.indent+e.indent, "*", hujson.Value{Value: action})
		e.trailingComma(root, &rules)
		last.Value = rules.Value
	}
	if !saidAtEnd(last, pattern, as) {
		e.add(last, e.indent+e.indent, pattern, hujson.Value{Value: word})
	}
	return nil
}

// errDenied: no place in the file allows a pattern without lifting a deny.
var errDenied = errors.New("a rule that allows it would lift one that denies")

// allowBefore adds one rule before one that denies a part of it.
func (e editor) allowBefore(root *hujson.Value, tool, pattern string, deny Rule) error {
	if deny.Block != (Block{}) {
		return e.allowBeforeBlock(root, tool, pattern, deny)
	}
	last, exact, _, err := lastAbout(root, tool)
	if err != nil {
		return err
	}
	at, i, there := -1, 0, false
	if _, list := last.Value.(hujson.Literal); exact && !list {
		for name, action := range entries(last) {
			there = there || at < 0 && name == pattern && action.Value.(hujson.Literal).String() == Allow.String()
			if at < 0 && expandHome(name, homeFolder("")) == deny.Pattern && action.Value.(hujson.Literal).String() == deny.Action.String() {
				at = i
			}
			i++
		}
	}
	if at < 0 {
		return fmt.Errorf("%w: the rule %v (%s) denies a part of %q", errDenied, deny, deny.Source, pattern)
	}
	if there {
		return nil
	}
	name, allow := hujson.Value{Value: hujson.String(pattern)}, hujson.Value{BeforeExtra: hujson.Extra(" "), Value: hujson.String("allow")}
	switch x := last.Value.(type) {
	case *hujson.Object:
		next := &x.Members[at].Name
		name.BeforeExtra, next.BeforeExtra = divideExtra(next.BeforeExtra)
		x.Members = slices.Insert(x.Members, at, hujson.ObjectMember{Name: name, Value: allow})
	case *hujson.Array:
		next := &x.Elements[at]
		pair := hujson.Value{Value: &hujson.Array{Elements: []hujson.ArrayElement{name, allow}}}
		pair.BeforeExtra, next.BeforeExtra = divideExtra(next.BeforeExtra)
		x.Elements = slices.Insert(x.Elements, at, pair)
	}
	return nil
}

// divideExtra divides what stands before an entry for two: a comment on the line
// of the entry above stays there, one on a line of its own with this one.
func divideExtra(extra hujson.Extra) (first, second hujson.Extra) {
	i := bytes.IndexByte(extra, '\n')
	if i < 0 {
		return extra, hujson.Extra(" ")
	}
	indent := extra[bytes.LastIndexByte(extra, '\n')+1:]
	return slices.Concat(extra[:i+1], indent), slices.Clone(extra[i:])
}

// lastAbout returns the value of the last entry whose tool glob matches tool,
// whether it is about no other tool, and whether blocks follow it.
func lastAbout(root *hujson.Value, tool string) (last *hujson.Value, exact, behind bool, err error) {
	for name, value := range entries(root) {
		if isBlock(name) {
			behind = true
			continue
		}
		g, err := glob.Compile(name)
		if err != nil {
			return nil, false, false, err
		}
		if g.Match(tool) {
			last, exact, behind = value, name == glob.Quote(tool), false
		}
	}
	return last, exact, behind, nil
}

// allowBeforeBlock adds one rule before the blocks in which one denies a part of it.
func (e editor) allowBeforeBlock(root *hujson.Value, tool, pattern string, deny Rule) error {
	at, i := -1, 0
	for name := range entries(root) {
		if isBlock(name) && at < 0 {
			at = i
		}
		i++
	}
	if at < 0 {
		return fmt.Errorf("%w: the rule %v (%s) denies a part of %q", errDenied, deny, deny.Source, pattern)
	}
	name := hujson.Value{Value: hujson.String(glob.Quote(tool))}
	allow := hujson.Value{Value: hujson.String("allow")}
	switch x := root.Value.(type) {
	case *hujson.Object:
		next := &x.Members[at].Name
		name.BeforeExtra, next.BeforeExtra = divideExtra(next.BeforeExtra)
		rules := hujson.Value{BeforeExtra: hujson.Extra(" "), Value: &hujson.Object{Members: []hujson.ObjectMember{{Name: hujson.Value{Value: hujson.String(pattern)}, Value: allow}}}}
		x.Members = slices.Insert(x.Members, at, hujson.ObjectMember{Name: name, Value: rules})
	case *hujson.Array:
		next := &x.Elements[at]
		pair := func(a, b hujson.Value) hujson.Value {
			return hujson.Value{Value: &hujson.Array{Elements: []hujson.ArrayElement{a, b}}}
		}
		entry := pair(name, hujson.Value{Value: &hujson.Array{Elements: []hujson.ArrayElement{pair(hujson.Value{Value: hujson.String(pattern)}, allow)}}})
		entry.BeforeExtra, next.BeforeExtra = divideExtra(next.BeforeExtra)
		x.Elements = slices.Insert(x.Elements, at, entry)
	}
	return nil
}

// entries yields the names and values of an object or a list of pairs, which
// [ParseJSON] has accepted.
func entries(v *hujson.Value) func(yield func(string, *hujson.Value) bool) {
	return func(yield func(string, *hujson.Value) bool) {
		switch x := v.Value.(type) {
		case *hujson.Object:
			for i := range x.Members {
				if !yield(x.Members[i].Name.Value.(hujson.Literal).String(), &x.Members[i].Value) {
					return
				}
			}
		case *hujson.Array:
			for i := range x.Elements {
				pair := x.Elements[i].Value.(*hujson.Array).Elements
				if !yield(pair[0].Value.(hujson.Literal).String(), &pair[1]) {
					return
				}
			}
		}
	}
}

// saidAtEnd reports whether the list says this of the pattern with nothing else
// after it.
func saidAtEnd(list *hujson.Value, pattern string, as Action) bool {
	found := false
	for name, action := range entries(list) {
		if action.Value.(hujson.Literal).String() != as.String() {
			found = false
		} else if name == pattern {
			found = true
		}
	}
	return found
}

// add puts an entry at the end of an object or a list of pairs. A comment after
// the last entry stays with that entry.
func (e editor) add(list *hujson.Value, indent, name string, value hujson.Value) {
	switch x := list.Value.(type) {
	case *hujson.Object:
		before := e.space(&x.AfterExtra, indent, len(x.Members) == 0)
		if n := len(x.Members); n > 0 && x.Members[n-1].Value.AfterExtra != nil {
			value.AfterExtra = hujson.Extra{} // there is a comma after the last
		}
		value.BeforeExtra = hujson.Extra(" ")
		x.Members = append(x.Members, hujson.ObjectMember{
			Name:  hujson.Value{BeforeExtra: before, Value: hujson.String(name)},
			Value: value,
		})
	case *hujson.Array:
		before := e.space(&x.AfterExtra, indent, len(x.Elements) == 0)
		value.BeforeExtra = hujson.Extra(" ")
		pair := hujson.Value{BeforeExtra: before, Value: &hujson.Array{Elements: []hujson.ArrayElement{
			{Value: hujson.String(name)}, value,
		}}}
		if n := len(x.Elements); n > 0 && x.Elements[n-1].AfterExtra != nil {
			pair.AfterExtra = hujson.Extra{}
		}
		x.Elements = append(x.Elements, pair)
	}
}

// space divides what stands before the closing bracket: it returns what goes
// before a new entry there and leaves the rest.
func (e editor) space(after *hujson.Extra, indent string, empty bool) hujson.Extra {
	all := *after
	i := bytes.LastIndexByte(all, '\n')
	if i < 0 {
		if empty {
			return nil
		}
		*after = nil
		return append(bytes.TrimRight(all, " \t"), ' ')
	}
	closing := all[i+1:]
	if len(bytes.Trim(closing, " \t")) > 0 { // a comment before the bracket
		closing = nil
	}
	before := bytes.TrimRight(all, " \t\r\n")
	*after = hujson.Extra(e.newline + string(closing))
	return hujson.Extra(string(before) + e.newline + indent)
}

// trailingComma gives rules a comma after the last entry if root has one.
func (e editor) trailingComma(root, rules *hujson.Value) {
	x, ok := root.Value.(*hujson.Object)
	if ok && x.Members[len(x.Members)-1].Value.AfterExtra != nil {
		o := rules.Value.(*hujson.Object)
		o.Members[0].Value.AfterExtra = hujson.Extra{}
	}
}

// indentOf returns the white space before the first entry, two blanks if it
// stands on the line of the bracket.
func (e editor) indentOf(root *hujson.Value) string {
	var first hujson.Extra
	switch x := root.Value.(type) {
	case *hujson.Object:
		if len(x.Members) > 0 {
			first = x.Members[0].Name.BeforeExtra
		}
	case *hujson.Array:
		if len(x.Elements) > 0 {
			first = x.Elements[0].BeforeExtra
		}
	}
	if i := bytes.LastIndexByte(first, '\n'); i >= 0 && len(bytes.Trim(first[i+1:], " \t")) == 0 && len(first) > i+1 {
		return string(first[i+1:])
	}
	return "  "
}
