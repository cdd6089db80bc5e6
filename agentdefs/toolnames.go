package agentdefs

import (
	"regexp"
	"slices"
	"strings"
)

// toolKind says how a name in a file relates to our tools.
type toolKind int

const (
	toolUnknown  toolKind = iota
	toolOurs              // one or several of our built-in tools
	toolMCP               // a tool, or all tools, of an MCP server
	toolEveryMCP          // all tools of all MCP servers
	toolAbsent            // known elsewhere, without a counterpart here
)

// ownTools are the built-in tools. A pattern meant for an MCP server must match
// none of them.
var ownTools = []string{
	"read_file", "write_file", "edit_file", "shell_exec", "grep", "glob", "list_dir", "web_fetch", "web_search", "task",
}

// counterparts maps the names that other tools use, in small letters, to ours.
var counterparts = func() map[string][]string {
	m := map[string][]string{}
	for _, row := range []struct{ ours, theirs string }{
		{"read_file", "read notebookread readfile read_many_files"},
		{"write_file", "write create_file createfile"},
		{"edit_file", "edit multiedit notebookedit replace patch apply_patch"},
		{"write_file edit_file", "editfiles"},
		{"shell_exec", "bash powershell shell execute run_shell_command runcommands runinterminal bashoutput killshell"},
		{"grep", "grep_search search_file_content codesearch"},
		{"glob", "filesearch"},
		{"grep glob list_dir", "search codebase usages"},
		{"list_dir", "ls list list_directory"},
		{"web_fetch", "fetch webfetch"},
		{"web_search", "websearch google_web_search"},
		{"web_fetch web_search", "web"},
		{"task", "agent runsubagent"},
		{"", "todowrite todoread skill sendmessage todo todos problems changes askuserquestion enterplanmode exitplanmode slashcommand " +
			"taskcreate taskget tasklist taskoutput taskstop taskupdate listmcpresourcestool readmcpresourcetool toolsearch lsp " +
			"external_directory doom_loop question write_todos save_memory activate_skill"},
	} {
		for _, name := range strings.Fields(row.theirs) {
			m[name] = strings.Fields(row.ours)
		}
	}
	for _, name := range ownTools {
		m[name] = []string{name}
	}
	return m
}()

// vscodeGroups are the groups of VS Code's own tools, which it writes like the
// tools of an MCP server: edit/editFiles.
var vscodeGroups = map[string]bool{
	"agent": true, "edit": true, "execute": true, "read": true, "search": true, "todo": true, "vscode": true, "web": true,
}

// lookUp returns our tools that name stands for, in any case. MCP tools are
// given as patterns over our names for them.
func lookUp(name string) ([]string, toolKind) {
	if name == "edit" { // Copilot's and opencode's; Claude Code's Edit does not create files
		return []string{"write_file", "edit_file"}, toolOurs
	}
	lower := strings.ToLower(name)
	if ours, ok := counterparts[lower]; ok {
		if len(ours) == 0 {
			return nil, toolAbsent
		}
		return ours, toolOurs
	}
	if group, member, ok := strings.Cut(lower, "/"); ok && vscodeGroups[group] {
		if member == "*" {
			member = group
		}
		if ours := counterparts[member]; len(ours) > 0 {
			return ours, toolOurs
		}
		return nil, toolAbsent
	}
	return lookUpMCP(lower)
}

var mcpPart = regexp.MustCompile(`^[\p{L}\p{N}_.@-]+$`)

// lookUpMCP reads mcp__server__tool, server/tool, mcp_server_tool, and the
// forms that mean all tools of a server.
func lookUpMCP(name string) ([]string, toolKind) {
	server, tool := name, ""
	switch {
	case strings.HasPrefix(name, "mcp__"):
		server, tool, _ = strings.Cut(name[len("mcp__"):], "__")
	case strings.HasPrefix(name, "mcp_"):
		server, tool, _ = strings.Cut(name[len("mcp_"):], "_")
		if tool == "" && server != "*" {
			return nil, toolUnknown
		}
	case strings.Contains(name, "/"):
		server, tool, _ = strings.Cut(name, "/")
	default:
		return nil, toolUnknown
	}
	if server == "*" && (tool == "" || tool == "*") {
		return nil, toolEveryMCP
	}
	stem, all := strings.CutSuffix(tool, "*")
	if !mcpPart.MatchString(server) || stem != "" && !mcpPart.MatchString(stem) {
		return nil, toolUnknown
	}
	pattern := mcpName(server) + "_" + mcpName(stem)
	if all || tool == "" {
		pattern += "*"
	}
	return []string{pattern}, toolMCP
}

// mcpName is a part of an MCP tool's name in the letters that our names have.
func mcpName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(s))
}

// hitsOwnTool reports whether an MCP pattern, a name with at most a star at its
// end, matches one of the built-in tools too.
func hitsOwnTool(pattern string) bool {
	stem, all := strings.CutSuffix(pattern, "*")
	return slices.ContainsFunc(ownTools, func(own string) bool {
		return own == stem || all && strings.HasPrefix(own, stem)
	})
}

// nearOwnTool returns the built-in tool that name is likely to be a slip of the
// pen for; empty: none.
func nearOwnTool(name string) string {
	c := canonical(name)
	for _, own := range ownTools {
		if o := canonical(own); len(o) > 4 && (c == o || oneSlip(c, o)) {
			return own
		}
	}
	return ""
}

// notOwnTool is a pattern that matches every tool but the built-in ones.
var notOwnTool = "!(" + strings.Join(ownTools, "|") + ")"

// translate turns a key of a permission block or a map of tools into our
// names. What is no name of another tool, such as a glob, stays as it is.
func translate(key string) ([]string, toolKind) {
	switch ours, kind := lookUp(key); kind {
	case toolOurs:
		return ours, kind
	case toolMCP:
		if !hitsOwnTool(ours[0]) {
			return ours, kind
		}
	case toolAbsent:
		return []string{key}, kind
	}
	return []string{key}, toolUnknown
}
