package agentlist

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
)

// table is the header of a role's table.
var table = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*agents[ \t]*\.[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*\]`)

// codex reads the roles of config.toml: tables agents.NAME with a description and the file that has
// the rest. Other values of agents are limits of Codex.
func codex(root *yaml.Node, source string) (entries []Entry) {
	_, agents := find(root, "agents")
	lines := agentfile.FirstLines(source, table)
	pairs(agents, func(name, value *yaml.Node) {
		if len(entries) > maxEntries { // the file is refused
			return
		}
		if value.Kind != yaml.MappingNode || strings.TrimSpace(name.Value) == "" {
			return
		}
		e := Entry{Key: "agents." + name.Value, Name: strings.TrimSpace(name.Value), Fields: value, Line: name.Line, Column: 1}
		if line := lines[name.Value]; line > 0 {
			e.Line = line
			place(value, line)
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
