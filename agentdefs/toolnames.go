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

// counterpart is what the name of another tool means here. A rule that allows
// is about no more than that tool can do there, one that denies about no less.
type counterpart struct {
	allow, deny []string // our tools that a rule which allows, or denies, is about
	only        string   // the files that it is about; empty: any
}

// notebooks are the only files that tools for notebooks touch.
const notebooks = "*.ipynb"

// counterparts maps the names that other tools use, in small letters, to ours.
var counterparts = func() map[string]counterpart {
	m := map[string]counterpart{}
	for _, row := range []struct{ ours, denied, only, theirs string }{
		{"read_file", "", "", "read readfile readfiletool read_many_files readmanyfiles readmanyfilestool"},
		{"read_file", "", notebooks, "notebookread"},
		{"write_file", "", "", "write writefile writefiletool create create_file createfile"},
		{"edit_file", "", "", "edit edittool multiedit replace replace_string_in_file"},
		{"edit_file", "", notebooks, "notebookedit editnotebook edit_notebook_file"},
		{"edit_file", "write_file edit_file", "", "patch apply_patch applypatch"},
		{"write_file edit_file", "", "", "editfiles fs_write"},
		{"shell_exec", "", "", "bash powershell shell shelltool execute execute_bash run_shell_command runcommands runinterminal run_in_terminal"},
		{"", "shell_exec", "", "bashoutput killshell killbash monitor"},
		{"grep", "", "", "greptool grep_search search_file_content codesearch"},
		{"glob", "", "", "globtool filesearch file_search"},
		{"grep glob list_dir", "", "", "search codebase usages"},
		{"list_dir", "", "", "ls lstool list list_directory list_files listdirectory"},
		{"read_file grep list_dir", "read_file grep glob list_dir", "", "fs_read"},
		{"read_file grep glob list_dir", "", "", "read-only"},
		{"web_fetch", "", "", "fetch fetchurl webfetch webfetchtool"},
		{"web_search", "", "", "websearch websearchtool google_web_search"},
		{"web_fetch web_search", "", "", "web"},
		{"task", "", "", "agent custom-agent runsubagent use_subagent"},
		{strings.Join(ownTools, " "), "", "", "@builtin"},
		{"", "", "", "todowrite todoread todo_write todo_read skill sendmessage todo todos problems changes askuserquestion enterplanmode exitplanmode slashcommand " +
			"taskcreate taskget tasklist taskoutput taskstop taskupdate listmcpresourcestool readmcpresourcetool toolsearch lsp " +
			"enterworktree exitworktree external_directory doom_loop question ask_user write_todos save_memory activate_skill todo_list thinking knowledge"},
	} {
		c := counterpart{strings.Fields(row.ours), strings.Fields(row.ours), row.only}
		if row.denied != "" {
			c.deny = strings.Fields(row.denied)
		}
		for _, name := range strings.Fields(row.theirs) {
			m[name] = c
		}
	}
	for _, name := range ownTools {
		m[name] = sameTools(name)
	}
	return m
}()

// sameTools is a counterpart that does not depend on what a rule says.
func sameTools(names ...string) counterpart { return counterpart{allow: names, deny: names} }

// vscodeGroups are the groups of VS Code's own tools, which it writes like the
// tools of an MCP server: edit/editFiles.
var vscodeGroups = map[string]bool{
	"agent": true, "edit": true, "execute": true, "read": true, "search": true, "todo": true, "vscode": true, "web": true,
}

// lookUp returns what name, in any case, stands for here. MCP tools are given
// as patterns over our names for them.
func lookUp(name string) (counterpart, toolKind) {
	if name == "edit" { // Copilot's and opencode's; Claude Code's Edit does not create files
		return sameTools("write_file", "edit_file"), toolOurs
	}
	lower := strings.ToLower(name)
	if c, ok := counterparts[lower]; ok {
		return c, c.kind()
	}
	if group, member, ok := strings.Cut(lower, "/"); ok && vscodeGroups[group] {
		if member == "*" {
			return lookUp(group)
		}
		c := counterparts[member]
		return c, c.kind()
	}
	return lookUpMCP(lower)
}

// kind says whether c is a tool of ours at all.
func (c counterpart) kind() toolKind {
	if len(c.deny) == 0 {
		return toolAbsent
	}
	return toolOurs
}

var mcpPart = regexp.MustCompile(`^[\p{L}\p{N}_.@-]+$`)

// lookUpMCP reads mcp__server__tool, server/tool, mcp_server_tool, @server/tool,
// and the forms that mean all tools of a server.
func lookUpMCP(name string) (counterpart, toolKind) {
	var none counterpart
	server, tool := name, ""
	switch {
	case strings.HasPrefix(name, "mcp__"):
		server, tool, _ = strings.Cut(name[len("mcp__"):], "__")
	case strings.HasPrefix(name, "mcp_"):
		server, tool, _ = strings.Cut(name[len("mcp_"):], "_")
		if tool == "" && server != "*" {
			return none, toolUnknown
		}
	case strings.HasPrefix(name, "@"): // Kiro's
		server, tool, _ = strings.Cut(name[1:], "/")
	case strings.Contains(name, "/"):
		server, tool, _ = strings.Cut(name, "/")
	default:
		return none, toolUnknown
	}
	if server == "*" && (tool == "" || tool == "*") {
		return none, toolEveryMCP
	}
	stem, all := strings.CutSuffix(tool, "*")
	if !mcpPart.MatchString(server) || stem != "" && !mcpPart.MatchString(stem) {
		return none, toolUnknown
	}
	pattern := mcpName(server) + "_" + mcpName(stem)
	if all || tool == "" {
		pattern += "*"
	}
	return sameTools(pattern), toolMCP
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
func translate(key string) (counterpart, toolKind) {
	switch c, kind := lookUp(key); kind {
	case toolOurs:
		return c, kind
	case toolMCP:
		if !hitsOwnTool(c.deny[0]) {
			return c, kind
		}
	case toolAbsent:
		return sameTools(key), kind
	}
	return sameTools(key), toolUnknown
}

// writers are opencode's names, in small letters, of tools that it switches and
// judges as one: who may not use one of them may use none.
var writers = map[string]bool{"edit": true, "write": true, "patch": true, "multiedit": true, "apply_patch": true}
