package agentdefs

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

var (
	keyLine = regexp.MustCompile(`^["']?([A-Za-z<][A-Za-z0-9_.<-]*)["']?[ \t]*:(.*)$`)

	// guardInside finds a line inside of a text that looks like a field which
	// decides about permission.
	guardInside = regexp.MustCompile(`(?m)(?:^|[\n\x{85}\x{2028}\x{2029}])[ \t]*["']?(?:permissions?|tools|allowed-?[tT]ools|disallowed-?[tT]ools|permissionMode|approvalMode|sandbox_mode|readonly|infer|callers?|disable(?:-model-invocation)?)["']?[ \t]*:`)

	// oddKey finds a line that YAML may read as such a field, and keyLine does not.
	oddKey = regexp.MustCompile(`(?i)^[?!&{].*(?:permission|tools|readonly)`)
)

// speech holds the words with which lines of a dialogue begin; they are no
// field names where a description has gone astray.
var speech = map[string]bool{
	"user": true, "assistant": true, "context": true, "commentary": true, "example": true, "examples": true,
	"human": true, "ai": true, "system": true, "response": true, "request": true, "note": true, "notes": true,
	"input": true, "output": true, "reason": true, "reasoning": true, "agent": true, "claude": true, "trigger": true,
	"http": true, "https": true, "usage": true, "query": true, "result": true, "action": true,
}

// recover reads a header that is no valid YAML: it is cut at the keys in
// column 0, and each entry is parsed alone. So one bad line spoils one field.
func (p *parser) recover(h header) []entry {
	var out []entry
	text := dedentAll(strings.Split(h.text, "\n"))
	for _, c := range p.cut(strings.Split(text, "\n"), h.line) {
		e := entry{key: c.key, id: c.id, misspelled: c.misspelled, line: c.line, column: h.indent + 1}
		e.node = c.alone(h.indent)
		if e.node == nil {
			e.raw = c.rawValue()
			// Below an empty value stands a block, which may hold anything.
			if inside := guardInside.FindString(e.raw); inside != "" && (e.id.textual() || c.valued() && !e.id.guards()) {
				p.refuse(codePermissionInvalid, e.line, e.column, "quote the text of "+e.key+", or write it as a block: "+e.key+": |",
					"the text of %s is no valid YAML and has a line %q, so what the agent may do is not clear", e.key, strings.TrimSpace(inside))
			}
			if e.id.textual() {
				p.report(codeFieldRepaired, e.line, e.column, "quote the text, or write it as a block: "+e.key+": |", "%s is no valid YAML; its text was taken as it stands", e.key)
			}
		}
		out = append(out, e)
	}
	return out
}

// chunk is the source of one entry.
type chunk struct {
	key        string
	id         fieldID
	misspelled bool
	line       int // of the first one, in the file
	lines      []string
}

// cut divides lines into entries; first is the place of the first line.
func (p *parser) cut(lines []string, first int) []chunk {
	var out []chunk
	lastClose := -1 // the last line in which an example ends
	for i, line := range lines {
		if strings.Contains(line, "</example>") {
			lastClose = i
		}
	}
	open := false  // inside an example that will end
	runOn := false // a description has gone on in column 0
	for i, line := range lines {
		key, id, exact, ok := keyOf(line)
		switch {
		case !ok && (oddKey.MatchString(line) || hidesField(line)):
			p.refuse(codePermissionInvalid, first+i, 1, "write it as name: value, in plain letters", "%q may be meant as a field that restricts, and cannot be read as one", cutShort(line))
		case !ok:
		case id == fieldUnknown:
			ok = !open && !runOn && !speech[strings.ToLower(key)]
		case runOn && speech[strings.ToLower(key)] && !id.guards():
			ok = false
		case open && id.guards():
			p.refuse(codePermissionInvalid, first+i, 1, "indent the example, or write the description as a block: description: |",
				"%s: stands in an <example>, so whether it is meant is not clear", key)
			ok = false
		case open:
			ok = false
		}
		if ok {
			out = append(out, chunk{key: key, id: id, misspelled: !exact, line: first + i})
			runOn = false
		} else if len(out) == 0 {
			continue
		} else if c := out[len(out)-1]; c.id == fieldDescription && line != "" && !strings.ContainsAny(line[:1], " \t#-") {
			runOn = true
		}
		c := &out[len(out)-1]
		c.lines = append(c.lines, line)
		if c.id == fieldDescription {
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

// keyOf returns the key that begins in column 0 of line. A known field may lack
// the space after its colon; an unknown one begins with a small letter.
func keyOf(line string) (key string, id fieldID, exact, ok bool) {
	m := keyLine.FindStringSubmatch(line)
	if m == nil {
		return "", "", false, false
	}
	id, exact = fieldOf(m[1])
	spaced := m[2] == "" || m[2][0] == ' ' || m[2][0] == '\t'
	switch {
	case id == fieldUnknown || !exact && !id.guards():
		if !spaced || m[1][0] < 'a' || m[1][0] > 'z' {
			return "", "", false, false
		}
	case !spaced && strings.HasPrefix(m[2], "//"): // an address
		return "", "", false, false
	}
	return m[1], id, exact, true
}

// alone parses c as a YAML document of its own; nil if it is none.
func (c chunk) alone(columns int) *yaml.Node {
	root, err := decodeYAML(strings.Join(c.lines, "\n"))
	if err != nil || len(root.Content) != 2 || root.Content[0].Value != c.key || hasAlias(root.Content[1]) {
		return nil
	}
	place(root.Content[1], c.line-1, columns)
	return root.Content[1]
}

// valued reports whether something stands behind the key in its line.
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
