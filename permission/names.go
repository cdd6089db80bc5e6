package permission

import (
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/toolcatalog"
)

// mcpPrefix begins the name of every tool of an MCP server: mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"

// names returns the names under which rules may name a tool. A tool of an MCP server has
// one for each way in which programs write it, but never that of a built-in tool.
func names(tool string) []string {
	rest, ok := strings.CutPrefix(tool, mcpPrefix)
	server, name, two := strings.Cut(rest, "__")
	if !ok || !two || server == "" || name == "" {
		return []string{tool}
	}
	all := []string{tool, "mcp_" + server + "_" + name, "mcp:" + server + ":" + name, server + "/" + name, "@" + server + "/" + name}
	if plain := server + "_" + name; !slices.ContainsFunc(toolcatalog.All, func(t toolcatalog.Tool) bool { return t.Name == plain }) {
		all = append(all, plain)
	}
	return all
}

// NamesTool reports whether a rule with the glob pattern for its tools is about a tool.
func NamesTool(pattern, tool string) bool {
	c, err := compileRule(Rule{Tool: pattern, Pattern: "*", Action: Deny})
	return err == nil && c.about(names(tool))
}

// about reports whether the rule is about a tool with these names. A rule that excludes tools
// by "!" allows a tool only if all of its names match.
func (c *compiled) about(names []string) bool {
	if c.Action == Allow && strings.ContainsAny(c.Tool, "!^") {
		return !slices.ContainsFunc(names, func(name string) bool { return !c.tool.Match(name) })
	}
	return slices.ContainsFunc(names, c.tool.Match)
}
