package agentlist

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// codex reads the roles of config.toml: tables agents.NAME with a description and the file that has
// the rest. Other values of agents are limits of Codex.
func codex(root *yaml.Node, source string) (entries []Entry) {
	_, agents := find(root, "agents")
	pairs(agents, func(name, value *yaml.Node) {
		if value.Kind != yaml.MappingNode || strings.TrimSpace(name.Value) == "" {
			return
		}
		e := Entry{Key: "agents." + name.Value, Name: strings.TrimSpace(name.Value), Fields: value, Line: name.Line, Column: 1}
		if at := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*agents[ \t]*\.[ \t]*["']?` + regexp.QuoteMeta(name.Value) + `["']?[ \t]*\]`).FindStringIndex(source); at != nil {
			e.Line = strings.Count(source[:at[0]], "\n") + 1
			place(value, e.Line)
		}
		_, file := find(value, "config_file")
		e.File = text(file)
		entries = append(entries, e)
	})
	return entries
}

// place gives n, and all in it, a line.
func place(n *yaml.Node, line int) {
	n.Line = line
	for _, c := range n.Content {
		place(c, line)
	}
}
