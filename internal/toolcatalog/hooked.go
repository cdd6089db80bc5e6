package toolcatalog

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
)

// Hooked says how hooks see the calls of a tool that are written for other programs.
type Hooked struct {
	Claude  string // the tool's name in Claude Code and Codex, then its other names there
	Copilot string // its name in Copilot
	// Fields are "ours=claude=copilot" for each argument, separated by blanks. A missing name is
	// the same as the one before it. "@" before ours says that it is a path, which they have as absolute; "*"
	// that it is a time in seconds, which they have in milliseconds.
	Fields string
}

// hooked returns the row's words for hooks; a tool without a row has none.
func hooked(name string) Hooked {
	row, _ := Find(name)
	return row.Hooked
}

// HookNames returns the names by which hooks may mean a tool: the first is the one that they are
// told.
func HookNames(name string, copilot bool) []string {
	h := hooked(name)
	names := append(strings.Fields(h.Claude), name)
	if h.Copilot != "" && copilot {
		names = append([]string{h.Copilot}, names...)
	}
	return names
}

// hookField is an argument in both forms.
type hookField struct {
	ours, theirs  string
	path, seconds bool
}

func hookFields(name string, copilot bool) (fields []hookField) {
	for text := range strings.FieldsSeq(hooked(name).Fields) {
		names := strings.SplitN(text, "=", 3)
		f := hookField{ours: strings.TrimLeft(names[0], "@*"), path: strings.HasPrefix(text, "@"), seconds: strings.HasPrefix(text, "*")}
		f.theirs = f.ours
		if len(names) > 1 {
			f.theirs = names[1]
		}
		if len(names) > 2 && copilot {
			f.theirs = names[2]
		}
		fields = append(fields, f)
	}
	return fields
}

// ToHook returns the arguments of a call as a hook expects them. root is what paths are
// relative to. Arguments that are no object stay as they are.
func ToHook(name string, args json.RawMessage, root string, copilot bool) json.RawMessage {
	return translate(args, hookFields(name, copilot), func(f hookField) (string, string) { return f.ours, f.theirs }, func(f hookField, v any) any {
		switch v := v.(type) {
		case string:
			if f.path && !filepath.IsAbs(v) {
				return filepath.Join(root, v)
			}
		case float64:
			if f.seconds {
				return v * 1000
			}
		}
		return v
	})
}

// FromHook returns the arguments that a hook has given as the tool expects them.
func FromHook(name string, args json.RawMessage, copilot bool) json.RawMessage {
	return translate(args, hookFields(name, copilot), func(f hookField) (string, string) { return f.theirs, f.ours }, func(f hookField, v any) any {
		if n, ok := v.(float64); ok && f.seconds {
			return math.Ceil(n / 1000)
		}
		return v
	})
}

func translate(args json.RawMessage, fields []hookField, names func(hookField) (from, to string), value func(hookField, any) any) json.RawMessage {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil || in == nil {
		return args
	}
	made, err := json.Marshal(translated(in, fields, names, value))
	if err != nil {
		return args
	}
	return made
}

// translated returns an object in the other form, with the objects of its lists.
func translated(in map[string]any, fields []hookField, names func(hookField) (from, to string), value func(hookField, any) any) map[string]any {
	out := make(map[string]any, len(in))
	taken := map[string]bool{}
	for _, f := range fields {
		from, to := names(f)
		if v, ok := in[from]; ok {
			out[to] = value(f, v)
			taken[from] = true
		}
	}
	for name, v := range in {
		if _, ok := out[name]; taken[name] || ok {
			continue
		}
		if list, ok := v.([]any); ok {
			for i, item := range list {
				if item, ok := item.(map[string]any); ok {
					list[i] = translated(item, fields, names, value)
				}
			}
		}
		out[name] = v
	}
	return out
}
