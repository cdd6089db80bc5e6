package dialect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/spelling"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// ToolKind says how a name in a file relates to our tools.
type ToolKind int

// The kinds.
const (
	UnknownTool  ToolKind = iota
	OwnTool               // one or several of our built-in tools
	MCPTool               // a tool, or all tools, of an MCP server
	EveryMCPTool          // all tools of all MCP servers
	AbsentTool            // known elsewhere, without a counterpart here
)

// Counterpart says what a tool's name from another program means here. A rule
// that allows covers no more than the tool can do there; one that denies covers
// no less.
type Counterpart struct {
	Allow, Deny []string // our tools that a rule which allows, or denies, covers
	Only        string   // pattern of the files that the tool works on; empty means any
}

// notebooks are the only files that tools for notebooks touch.
const notebooks = "*.ipynb"

// pictures are the only files that tools which show pictures read.
const pictures = "*.{png,jpg,jpeg,gif,webp}"

// counterparts maps the names that other tools use, in small letters, to ours. Names
// that mean one of our tools, whatever it does, are in the catalog.
var counterparts = func() map[string]Counterpart {
	m := map[string]Counterpart{}
	for _, row := range []struct{ ours, denied, only, theirs string }{
		{"read_file", "", notebooks, "notebookread getnotebooksummary readnotebookcelloutput"},
		{"edit_file", "", notebooks, "notebookedit editnotebook edit_notebook_file"},
		{"write_file", "", notebooks, "createjupyternotebook"},
		{"read_file", "", pictures, "viewimage view_image"},
		{"write_file edit_file", "", "", "editfiles fs_write"},
		{"grep glob list_dir", "", "", "search codebase usages findtestfiles searchresults codebase_search"},
		{"read_file grep list_dir", "read_file grep glob list_dir", "", "fs_read"},
		{"read_file grep glob list_dir", "", "", "read-only"},
		{"web_fetch web_search", "", "", "web"},
		{"ask_user", "", "", "vscode"}, // of that group nothing else is here
		{"", "definition references symbols", "", "lsp"},
		{"", "shell_exec", "", "changes runtask runtasks runtests testfailure"}, // git and tests by commands
		{"", "write_file", "", "createdirectory create_directory"},
		{strings.Join(toolcatalog.Rules, " "), "", "", "@builtin"},
		{"", "", "", "sendmessage enterplanmode exitplanmode slashcommand " +
			"taskoutput taskstop listmcpresourcestool readmcpresourcetool " +
			"enterworktree exitworktree external_directory doom_loop save_memory thinking knowledge browser githubrepo " +
			"activepullrequest extensions getprojectsetupinfo installextension new newworkspace opensimplebrowser rename " +
			"runnotebookcell runnotebooks selection terminalselection vscodeapi " +
			"access_mcp_resource attempt_completion browser_action delete_file switch_mode think update_memory use_mcp_tool"},
	} {
		c := Counterpart{strings.Fields(row.ours), strings.Fields(row.ours), row.only}
		if row.denied != "" {
			c.Deny = strings.Fields(row.denied)
		}
		for _, name := range strings.Fields(row.theirs) {
			m[name] = c
		}
	}
	for _, tool := range toolcatalog.All {
		if tool.Own && tool.Reserved {
			continue
		}
		means := sameTools(tool.Name)
		if tool.RuledByWriters { // its own name says that the agent is to have it
			means = Counterpart{Allow: append(slices.Clone(toolcatalog.Writers), tool.Name), Deny: toolcatalog.Writers}
		}
		if tool.With != "" { // allowed by itself it is of no use
			means = Counterpart{Deny: []string{tool.With}}
			if tool.Alone {
				means.Deny = []string{tool.Name}
			}
		}
		for _, name := range append(tool.OtherNames(), tool.Name) {
			m[name] = means
		}
	}
	return m
}()

// sameTools returns a counterpart that is the same for allowing and denying.
func sameTools(names ...string) Counterpart { return Counterpart{Allow: names, Deny: names} }

// vscodeGroups are the groups of VS Code's own tools, which it writes like the
// tools of an MCP server: edit/editFiles.
var vscodeGroups = map[string]bool{
	"agent": true, "edit": true, "execute": true, "read": true, "search": true, "todo": true, "vscode": true, "web": true,
}

// LookUp returns what name, in any case, means here. MCP tools are given as
// patterns over our names for them.
func LookUp(name string) (Counterpart, ToolKind) {
	if name == "edit" { // Copilot's and opencode's; Claude Code's Edit does not create files
		return sameTools("write_file", "edit_file"), OwnTool
	}
	lower := strings.ToLower(name)
	if c, ok := counterparts[lower]; ok {
		return c, c.kind()
	}
	if group, member, ok := strings.Cut(lower, "/"); ok && vscodeGroups[group] {
		if member == "*" {
			return LookUp(group)
		}
		c := counterparts[member]
		return c, c.kind()
	}
	return lookUpMCP(lower)
}

// kind tells the names of our tools from those without a counterpart.
func (c Counterpart) kind() ToolKind {
	if len(c.Deny) == 0 {
		return AbsentTool
	}
	return OwnTool
}

var mcpPart = regexp.MustCompile(`^[\p{L}\p{N}_.@-]+$`)

// lookUpMCP reads mcp__server__tool, server/tool, mcp_server_tool, @server/tool,
// and the forms that mean all tools of a server.
func lookUpMCP(name string) (Counterpart, ToolKind) {
	var none Counterpart
	if strings.HasPrefix(name, "mcp**") { // what formatters of Markdown make of mcp__server__tool
		name = strings.ReplaceAll(name, "**", "__")
	}
	server, tool := name, ""
	switch {
	case strings.HasPrefix(name, "mcp__"):
		server, tool, _ = strings.Cut(name[len("mcp__"):], "__")
	case strings.HasPrefix(name, "mcp_") && !strings.Contains(name, "/"): // not MCP_DOCKER/tool
		server, tool, _ = strings.Cut(name[len("mcp_"):], "_")
		if tool == "" && server != "*" {
			return none, UnknownTool
		}
	case strings.HasPrefix(name, "@"): // Kiro's
		server, tool, _ = strings.Cut(name[1:], "/")
	case strings.Contains(name, "/"):
		server, tool, _ = strings.Cut(name, "/")
	default:
		return none, UnknownTool
	}
	if server == "*" && (tool == "" || tool == "*") {
		return none, EveryMCPTool
	}
	stem, all := strings.CutSuffix(tool, "*")
	if !mcpPart.MatchString(server) || stem != "" && !mcpPart.MatchString(stem) {
		return none, UnknownTool
	}
	pattern := mcpName(server) + "_" + mcpName(stem)
	if all || tool == "" {
		pattern += "*"
	}
	return sameTools(pattern), MCPTool
}

// mcpName returns a part of an MCP tool's name in the characters that our names
// have.
func mcpName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(s))
}

// MatchesOwnTool reports whether an MCP pattern, a name that may end in a star,
// matches a built-in tool as well.
func MatchesOwnTool(pattern string) bool {
	stem, all := strings.CutSuffix(pattern, "*")
	return slices.ContainsFunc(toolcatalog.Rules, func(own string) bool {
		return own == stem || all && strings.HasPrefix(own, stem)
	})
}

// NearOwnTool returns the built-in tool whose name was probably mistyped as name,
// or "".
func NearOwnTool(name string) string {
	c := spelling.Canonical(name)
	for _, own := range toolcatalog.Rules {
		if o := spelling.Canonical(own); len(o) > 4 && (c == o || spelling.OneOff(c, o)) {
			return own
		}
	}
	return ""
}

// OtherTools is a pattern that matches every tool but the built-in ones.
var OtherTools = "!(" + strings.Join(toolcatalog.Rules, "|") + ")"

// Translate turns a key of a permission block or a map of tools into our names.
// A key that is not a known name, such as a glob, is not translated.
func Translate(key string) (Counterpart, ToolKind) {
	switch c, kind := LookUp(key); kind {
	case OwnTool:
		return c, kind
	case MCPTool:
		if !MatchesOwnTool(c.Deny[0]) {
			return c, kind
		}
	case AbsentTool:
		return sameTools(key), kind
	}
	return sameTools(key), UnknownTool
}

// OpencodeWriters are opencode's names of tools that it treats as one: an agent
// that may not use one of them may use none.
var OpencodeWriters = map[string]bool{"edit": true, "write": true, "patch": true, "multiedit": true, "apply_patch": true}
