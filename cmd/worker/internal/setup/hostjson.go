package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFile is a JSON document, which may have comments and trailing commas, as its text and
// its parts.
type jsonFile struct {
	text []byte
	root hujson.Value
}

func parseJSON(text []byte) (*jsonFile, error) {
	root, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, errors.New("it is no JSON object")
	}
	return &jsonFile{text, root}, nil
}

// values returns what the document says, without comments.
func (f *jsonFile) values() (map[string]any, error) {
	plainEntry, err := hujson.Standardize(bytes.Clone(f.text))
	if err != nil {
		return nil, err
	}
	var values map[string]any
	dec := json.NewDecoder(bytes.NewReader(plainEntry))
	dec.UseNumber()
	err = dec.Decode(&values)
	return values, err
}

// walk goes down keys as far as there are objects. It returns the last of them, and how many
// keys it has found.
func (f *jsonFile) walk(keys []string) (at *hujson.Value, found int, err error) {
	at = &f.root
	for _, key := range keys {
		i, err := member(at.Value.(*hujson.Object), key)
		if err != nil {
			return nil, 0, err
		}
		if i < 0 {
			return at, found, nil
		}
		next := &at.Value.(*hujson.Object).Members[i].Value
		if _, ok := next.Value.(*hujson.Object); !ok {
			return nil, 0, fmt.Errorf("%q is no object there", key)
		}
		at, found = next, found+1
	}
	return at, found, nil
}

// member returns the place of a key in an object; -1 means it is not there.
func member(object *hujson.Object, key string) (int, error) {
	at := -1
	for i := range object.Members {
		if name, ok := object.Members[i].Name.Value.(hujson.Literal); ok && name.String() == key {
			if at >= 0 {
				return -1, fmt.Errorf("%q stands there twice", key)
			}
			at = i
		}
	}
	return at, nil
}

// insert returns the text with one more member: name: value below keys, whose objects it makes
// where they are missing. All other bytes stay.
func (f *jsonFile) insert(keys []string, name, value string) (string, error) {
	at, found, err := f.walk(keys)
	if err != nil {
		return "", err
	}
	object, text := at.Value.(*hujson.Object), string(f.text)
	end, unit := f.style()
	depth := found + 1
	made := jsonText(name) + ": " + value
	for i := len(keys) - 1; i >= found; i-- {
		inner := strings.Repeat(unit, i+2)
		made = jsonText(keys[i]) + ": {" + end + inner + made + end + strings.Repeat(unit, i+1) + "}"
	}
	pos := at.StartOffset + 1 // behind the brace
	pos += commentLine(text[pos:])
	line, _, broken := strings.Cut(text[pos:], "\n")
	if len(object.Members) == 0 {
		made = end + strings.Repeat(unit, depth) + made
		if !broken || strings.TrimSpace(line) != "" {
			made += end + strings.Repeat(unit, depth-1)
		}
		return text[:pos] + made + text[pos:], nil
	}
	if !broken || strings.TrimSpace(line) != "" { // all in one line
		return text[:pos] + made + "," + text[pos:], nil
	}
	return text[:pos] + end + strings.Repeat(unit, depth) + made + "," + text[pos:], nil
}

// commentLine returns the length of a comment that ends the line with which text begins.
func commentLine(text string) int {
	line, _, broken := strings.Cut(text, "\n")
	line = strings.TrimSuffix(line, "\r")
	comment := strings.TrimSpace(line)
	closed := strings.HasPrefix(comment, "/*") && strings.Index(comment, "*/") == len(comment)-2
	if broken && (closed || strings.HasPrefix(comment, "//")) {
		return len(line)
	}
	return 0
}

// style returns how lines end, and what a line is indented by.
func (f *jsonFile) style() (end, unit string) {
	end, unit = "\n", "  "
	text := string(f.text)
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	if object := f.root.Value.(*hujson.Object); len(object.Members) > 0 {
		before := text[:object.Members[0].Name.StartOffset]
		blank := before[strings.LastIndex(before, "\n")+1:]
		if blank != "" && len(blank) <= 8 && strings.TrimLeft(blank, " \t") == "" {
			unit = blank
		}
	}
	return end, unit
}

// remove returns the text without a member. All other bytes stay, except for a comma before
// the last one.
func (f *jsonFile) remove(keys []string, name string) (string, error) {
	at, found, err := f.walk(keys)
	if err != nil || found < len(keys) {
		return string(f.text), err
	}
	object, text := at.Value.(*hujson.Object), string(f.text)
	i, err := member(object, name)
	if err != nil || i < 0 {
		return text, err
	}
	start, end := object.Members[i].Name.StartOffset, object.Members[i].Value.EndOffset
	for start > 0 && (text[start-1] == ' ' || text[start-1] == '\t') {
		start--
	}
	if start > 0 && text[start-1] == '\n' {
		start--
		if start > 0 && text[start-1] == '\r' {
			start--
		}
	}
	if comma := end + len(object.Members[i].Value.AfterExtra); text[comma] == ',' {
		return text[:start] + text[comma+1:], nil
	}
	if i == 0 {
		return text[:start] + text[end:], nil
	}
	last := object.Members[i-1].Value
	comma := last.EndOffset + len(last.AfterExtra)
	return text[:comma] + text[comma+1:start] + text[end:], nil
}
