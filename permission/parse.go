package permission

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/permission/glob"
	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"
)

// ParseOptions configures [ParseYAML] and [ParseJSON]. nil means the zero value.
type ParseOptions struct {
	LineOffset int    // added to every line: what stands before the text in its file
	Home       string // what "~/" and "$HOME/" mean; "": the user's home folder
}

// maxRules bounds the rules of one text.
const maxRules = 100_000

// maxJSON bounds the bytes of one text.
const maxJSON = 4 << 20

// parser collects the rules of one text.
type parser struct {
	file  string
	line  int
	home  string
	block Block // of the rules that come
	rules []Rule
}

func newParser(file string, opts *ParseOptions) *parser {
	p := &parser{file: file}
	if opts != nil {
		p.line, p.home = opts.LineOffset, opts.Home
	}
	p.home = homeFolder(p.home)
	return p
}

func (p *parser) refuse(at Source, format string, args ...any) error {
	return &SyntaxError{Source: at, Reason: fmt.Sprintf(format, args...)}
}

// add adds a rule whose action is written as the text action.
func (p *parser) add(tool, pattern, action string, at, actionAt Source) error {
	a, err := ParseAction(action)
	if err != nil {
		return p.refuse(actionAt, "%v", err)
	}
	if len(p.rules) == maxRules {
		return p.refuse(at, "more than %d rules", maxRules)
	}
	p.rules = append(p.rules, Rule{Tool: tool, Pattern: expandHome(pattern, p.home), Action: a, Source: at, Block: p.block})
	return nil
}

// tool checks the name of a tool without rules. Other names are checked with
// their rules.
func (p *parser) tool(name string, at Source) error {
	if _, err := glob.Compile(name); err != nil {
		return p.refuse(at, "tool: %v", err)
	}
	return nil
}

// ParseYAML reads the compact format from a YAML node: a mapping of tool globs
// to actions, or to mappings of patterns to actions. The order of the file is
// the order of the rules. file is for messages and [Rule.Source]. A nil node,
// or one that is null, is the empty ruleset. Errors are [*SyntaxError].
func ParseYAML(node *yaml.Node, file string, opts *ParseOptions) (*Ruleset, error) {
	p := newParser(file, opts)
	node = resolve(node)
	if node == nil || node.Kind == 0 || node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return NewRuleset()
	}
	if node.Kind != yaml.MappingNode {
		return nil, p.refuse(p.at(node), "want a mapping of tools to actions, got %s", kindYAML(node))
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolve(node.Content[i+1])
		tool, err := p.key(key, "tool")
		if err != nil {
			return nil, err
		}
		if value.Kind != yaml.MappingNode {
			if err := p.action(tool, "*", key, value); err != nil {
				return nil, err
			}
			continue
		}
		if len(value.Content) == 0 {
			if err := p.tool(tool, p.at(key)); err != nil {
				return nil, err
			}
		}
		for j := 0; j+1 < len(value.Content); j += 2 {
			key, value := value.Content[j], resolve(value.Content[j+1])
			pattern, err := p.key(key, "pattern")
			if err != nil {
				return nil, err
			}
			if err := p.action(tool, pattern, key, value); err != nil {
				return nil, err
			}
		}
	}
	return NewRuleset(p.rules...)
}

func (p *parser) at(n *yaml.Node) Source {
	if n.Line == 0 {
		return Source{File: p.file}
	}
	return Source{File: p.file, Line: n.Line + p.line, Column: n.Column}
}

func (p *parser) key(n *yaml.Node, what string) (string, error) {
	key := resolve(n)
	if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
		return "", p.refuse(p.at(n), "want a %s, got %s", what, kindYAML(key))
	}
	return key.Value, nil
}

func (p *parser) action(tool, pattern string, key, value *yaml.Node) error {
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
		return p.refuse(p.at(value), "%s: want an action (allow, ask or deny), got %s", key.Value, kindYAML(value))
	}
	return p.add(tool, pattern, value.Value, p.at(key), p.at(value))
}

// resolve follows aliases and the document to the node that they lead to.
func resolve(n *yaml.Node) *yaml.Node {
	for range 10 {
		switch {
		case n == nil:
			return nil
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
			n = n.Content[0]
		default:
			return n
		}
	}
	return n
}

func kindYAML(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!merge":
		return `a merge key "<<"`
	case n.Kind == yaml.ScalarNode:
		return fmt.Sprintf("%q", n.Value)
	}
	return "no value"
}

// ParseJSON reads the compact format from JSON with comments and trailing
// commas. It is an object whose keys count in their order, repeated ones too,
// or a list of pairs: [["shell_exec",[["ls","allow"]]]]. Rules within "agents":
// {NAME: …} are for the sessions of an agent, those within "when":
// {"unattended": …} for sessions where nobody can be asked. file is for
// messages and [Rule.Source]. Errors are [*SyntaxError].
func ParseJSON(data []byte, file string, opts *ParseOptions) (*Ruleset, error) {
	p := newParser(file, opts)
	root, err := p.parseJSON(data)
	if err != nil {
		return nil, err
	}
	if err := newJSONParser(p, data).rulesOf(root); err != nil {
		return nil, err
	}
	return NewRuleset(p.rules...)
}

// rulesOf reads the rules of the file, or of a block.
func (j jsonParser) rulesOf(v *hujson.Value) error {
	p := j.parser
	return j.pairs(v, "tool", func(tool string, key, value *hujson.Value) error {
		if isBlock(tool) {
			return j.blocks(tool, key, value)
		}
		if _, ok := value.Value.(hujson.Literal); ok {
			return j.action(tool, "*", key, value)
		}
		rules := len(p.rules)
		err := j.pairs(value, "pattern", func(pattern string, key, value *hujson.Value) error {
			return j.action(tool, pattern, key, value)
		})
		if err == nil && len(p.rules) == rules {
			err = p.tool(tool, j.at(key))
		}
		return err
	})
}

// blocks reads the blocks of agents, or that of a condition.
func (j jsonParser) blocks(kind string, key, value *hujson.Value) error {
	before := j.block
	defer func() { j.block = before }()
	if _, ok := value.Value.(hujson.Literal); ok {
		return j.refuse(j.at(value), `%s: want blocks of rules, as in {"reviewer": {"shell_exec": "deny"}} of agents and {"unattended": {"shell_exec": "deny"}} of when`, kind)
	}
	return j.pairs(value, "block", func(name string, at, rules *hujson.Value) error {
		j.block = before
		switch {
		case kind == agentsKey && !blockName(name):
			return j.refuse(j.at(at), "agents: want the name of an agent, got %q: patterns are not for names", name)
		case kind == whenKey && name != unattended:
			return j.refuse(j.at(at), "when: unknown condition %q (known: %s)", name, unattended)
		case kind == agentsKey && before.Agent != "", kind == whenKey && before.Unattended:
			return j.refuse(j.at(key), "%s: it stands in such a block already", kind)
		case kind == agentsKey:
			j.block.Agent = name
		default:
			j.block.Unattended = true
		}
		if _, ok := rules.Value.(hujson.Literal); ok {
			return j.refuse(j.at(rules), `%s: %s: want rules, as in {"shell_exec": "deny"}`, kind, name)
		}
		return j.rulesOf(rules)
	})
}

// parseJSON parses the text into a tree.
func (p *parser) parseJSON(data []byte) (*hujson.Value, error) {
	if len(data) > maxJSON {
		return nil, p.refuse(Source{File: p.file}, "is longer than 4 MiB")
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	root, err := hujson.Parse(data)
	if err != nil {
		var line, column int
		reason := strings.TrimPrefix(err.Error(), "hujson: ")
		if n, _ := fmt.Sscanf(reason, "line %d, column %d:", &line, &column); n == 2 {
			_, reason, _ = strings.Cut(reason, ": ")
			line += p.line
		}
		return nil, &SyntaxError{Source: Source{File: p.file, Line: line, Column: column}, Reason: reason, Err: err}
	}
	return &root, nil
}

// jsonParser reads rules from the tree of data.
type jsonParser struct {
	*parser
	lines []int // where each line begins
}

func newJSONParser(p *parser, data []byte) jsonParser {
	j := jsonParser{parser: p, lines: []int{0}}
	for i, c := range bytes.TrimPrefix(data, []byte("\uFEFF")) {
		if c == '\n' {
			j.lines = append(j.lines, i+1)
		}
	}
	return j
}

func (j jsonParser) at(v *hujson.Value) Source {
	line, found := slices.BinarySearch(j.lines, v.StartOffset)
	if !found {
		line--
	}
	return Source{File: j.file, Line: 1 + line + j.line, Column: 1 + v.StartOffset - j.lines[line]}
}

// pairs calls yield for each name and value of an object or a list of pairs.
func (j jsonParser) pairs(v *hujson.Value, what string, yield func(name string, key, value *hujson.Value) error) error {
	switch x := v.Value.(type) {
	case *hujson.Object:
		for i := range x.Members {
			m := &x.Members[i]
			if err := yield(m.Name.Value.(hujson.Literal).String(), &m.Name, &m.Value); err != nil {
				return err
			}
		}
		return nil
	case *hujson.Array:
		for i := range x.Elements {
			pair, ok := x.Elements[i].Value.(*hujson.Array)
			if !ok || len(pair.Elements) != 2 || pair.Elements[0].Value.Kind() != '"' {
				return j.refuse(j.at(&x.Elements[i]), `want a pair ["%s", …]`, what)
			}
			key, value := &pair.Elements[0], &pair.Elements[1]
			if err := yield(key.Value.(hujson.Literal).String(), key, value); err != nil {
				return err
			}
		}
		return nil
	}
	return j.refuse(j.at(v), "want an object, or a list of pairs, of %ss, got %s", what, v.Value.(hujson.Literal))
}

func (j jsonParser) action(tool, pattern string, key, value *hujson.Value) error {
	text, ok := value.Value.(hujson.Literal)
	if !ok || text.Kind() != '"' {
		return j.refuse(j.at(value), "%s: want an action (allow, ask or deny)", key.Value)
	}
	return j.add(tool, pattern, text.String(), j.at(key), j.at(value))
}
