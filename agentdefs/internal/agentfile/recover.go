package agentfile

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/spelling"
)

// speech holds the words with which lines of a dialogue begin. In a description
// that runs over several lines they are not names of fields.
var speech = map[string]bool{
	"user": true, "assistant": true, "context": true, "commentary": true, "example": true, "examples": true,
	"human": true, "ai": true, "system": true, "response": true, "request": true, "note": true, "notes": true,
	"input": true, "output": true, "reason": true, "reasoning": true, "agent": true, "claude": true, "trigger": true,
	"http": true, "https": true, "usage": true, "query": true, "result": true, "action": true,
}

// recover reads a header that is not valid YAML. It cuts it at the keys in
// column 0, and parses each Entry by itself. So a bad line affects one field.
func (p *Reader) recover(h Header) []Entry {
	var out []Entry
	text := dedentAll(strings.Split(h.text, "\n"))
	for _, c := range p.cut(strings.Split(text, "\n"), h.Line) {
		e := Entry{Key: c.key, Field: c.field, Misspelled: c.misspelled, Line: c.line, Column: h.indent + 1}
		e.Node = c.alone(h.indent)
		if e.Node == nil {
			e.Raw = c.rawValue()
			// Below an empty value stands a block, which may hold anything.
			if inside := p.Fields.inside.FindString(e.Raw); inside != "" && (e.Field.Textual || c.valued() && !e.Field.Restricts) {
				p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "quote the text of "+e.Key+", or write it as a block: "+e.Key+": |",
					"the text of %s is not valid YAML and has a line %q, so what the agent may do is not clear", e.Key, strings.TrimSpace(inside))
			}
			if e.Field.Textual {
				p.Report(diag.FieldRepaired, e.Line, e.Column, "quote the text, or write it as a block: "+e.Key+": |", "%s is not valid YAML; its text was taken as it stands", e.Key)
			}
		}
		out = append(out, e)
	}
	return out
}

// chunk is the source of one entry.
type chunk struct {
	key        string
	field      *Field
	misspelled bool
	line       int // of the first one, in the file
	lines      []string
}

// cut divides lines into entries; first is the place of the first line.
func (p *Reader) cut(lines []string, first int) []chunk {
	var out []chunk
	lastClose := -1 // the last line in which an example ends
	for i, line := range lines {
		if strings.Contains(line, "</example>") {
			lastClose = i
		}
	}
	open := false  // inside an example that will end
	runOn := false // a description has continued in column 0
	for i, line := range lines {
		key, f, exact, ok := p.Fields.key(line)
		switch {
		case !ok && p.Fields.hides(line):
			p.Refuse(diag.PermissionInvalid, first+i, 1, "write it as name: value, in plain letters", "%q may be meant as a field that restricts, and cannot be read as one", spelling.Short(line))
		case !ok:
		case f == Unknown:
			ok = !open && !runOn && !speech[strings.ToLower(key)]
		case runOn && speech[strings.ToLower(key)] && !f.Restricts:
			ok = false
		case open && f.Restricts:
			p.Refuse(diag.PermissionInvalid, first+i, 1, "indent the example, or write the description as a block: description: |",
				"%s: stands in an <example>, so whether it is meant is not clear", key)
			ok = false
		case open:
			ok = false
		}
		if ok {
			out = append(out, chunk{key: key, field: f, misspelled: !exact, line: first + i})
			runOn = false
		} else if len(out) == 0 {
			continue
		} else if c := out[len(out)-1]; c.field.ID == "description" && line != "" && !strings.ContainsAny(line[:1], " \t#-") {
			runOn = true
		}
		c := &out[len(out)-1]
		c.lines = append(c.lines, line)
		if c.field.ID == "description" {
			from, to := strings.LastIndex(line, "<example>"), strings.LastIndex(line, "</example>")
			switch {
			case from > to:
				open = i < lastClose
			case to >= 0:
				open = false
			}
		} else {
			open = false
		}
	}
	return out
}

// alone parses c as a YAML document of its own. It returns nil if that fails.
func (c chunk) alone(columns int) *yaml.Node {
	root, err := decodeYAML(strings.Join(c.lines, "\n"))
	if err != nil || len(root.Content) != 2 || root.Content[0].Value != c.key || hasAlias(root.Content[1]) {
		return nil
	}
	shift(root.Content[1], c.line-1, columns)
	return root.Content[1]
}

// valued reports whether the line has something after the key.
func (c chunk) valued() bool {
	return strings.TrimSpace(keyLine.FindStringSubmatch(c.lines[0])[2]) != ""
}

// rawValue returns the text of c's value: without the key, a block's indicator,
// a pair of quotes around it, comments below it, and common indentation.
func (c chunk) rawValue() string {
	m := keyLine.FindStringSubmatch(c.lines[0])
	first, rest := strings.TrimSpace(m[2]), c.lines[1:]
	for len(rest) > 0 {
		last := rest[len(rest)-1]
		if strings.TrimSpace(last) != "" && !strings.HasPrefix(last, "#") {
			break
		}
		rest = rest[:len(rest)-1]
	}
	if blockIndicator.MatchString(first) {
		first = ""
	}
	text := strings.TrimSpace(first + "\n" + dedentAll(rest))
	for _, q := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) {
			return strings.TrimSpace(text[1 : len(text)-1])
		}
	}
	return text
}

var blockIndicator = regexp.MustCompile(`^[|>][0-9+-]*$`)

// dedentAll cuts off the indentation that all lines share.
func dedentAll(lines []string) string {
	common := -1
	for _, line := range lines {
		if trimmed := strings.TrimLeft(line, " \t"); trimmed != "" {
			if n := len(line) - len(trimmed); common < 0 || n < common {
				common = n
			}
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(max(common, 0), len(line)):]
	}
	return strings.Join(out, "\n")
}
