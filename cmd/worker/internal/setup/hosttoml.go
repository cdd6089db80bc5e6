package setup

import (
	"errors"
	"strings"

	"github.com/BurntSushi/toml"
)

// tomlValues returns what a TOML document says.
func tomlValues(text []byte) (map[string]any, error) {
	values := map[string]any{}
	err := toml.Unmarshal(text, &values)
	return values, err
}

// tomlInsert returns a text with one more table at its end. A table above it that is written
// as a value can't have one.
func tomlInsert(text, table string, fields []entryField) (string, error) {
	end := lineEnd(text)
	above, _, _ := strings.Cut(table, ".")
	for line := range strings.Lines(text) {
		if key, _, ok := strings.Cut(line, "="); ok && strings.Trim(strings.TrimSpace(key), `"'`) == above {
			return "", errors.New(above + " is written as a value; write the entry by hand")
		}
	}
	if text != "" {
		if !strings.HasSuffix(text, "\n") {
			text += end
		}
		text += end
	}
	text += "[" + table + "]" + end
	for _, f := range fields {
		// The JSON of a text, or of a list of texts, is TOML too.
		text += f.Key + " = " + strings.ReplaceAll(jsonText(f.Value), `","`, `", "`) + end
	}
	return text, nil
}

func lineEnd(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// tomlRemove returns a text without a table and its subtables, which must follow each
// other. Comments that follow stay.
func tomlRemove(text, table string) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	first := -1
	for i, line := range lines {
		if tomlHeader(line) == "["+table+"]" {
			first = i
			break
		}
	}
	if first < 0 {
		return "", errors.New("the entry is not written as [" + table + "]; take it out by hand")
	}
	behind := first + 1
	for i := behind; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		if strings.HasPrefix(trimmed, "[") && !strings.HasPrefix(trimmed, "["+table+".") {
			break
		}
		if trimmed != "" && trimmed[0] != '#' {
			behind = i + 1
		}
	}
	if first > 0 && strings.TrimSpace(lines[first-1]) == "" {
		first--
	}
	return strings.Join(lines[:first], "") + strings.Join(lines[behind:], ""), nil
}

// tomlHeader returns a line without its comment.
func tomlHeader(line string) string {
	line, _, _ = strings.Cut(line, "#")
	return strings.TrimSpace(line)
}
