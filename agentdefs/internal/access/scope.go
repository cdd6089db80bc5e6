package access

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// allow returns the rules that let s happen. What is not understood to the
// last letter grants nothing. all are the tools of its list.
func (p *Reader) allow(s toolSpec, all []toolSpec) Clause {
	c, kind := dialect.LookUp(s.name)
	tools := c.Allow
	line, column := s.at.Line, s.at.Column
	comes := kind == dialect.OwnTool && len(tools) == 0 && !s.opaque && allowsOne(all, c.Deny)
	switch {
	case comes:
		p.named(s.text, c.Deny)
	case s.name != "*" && kind != dialect.UnknownTool:
		p.named(s.text, tools)
	}
	switch {
	case comes: // with a tool of the list, whose rules hold for it
		return nil
	case s.opaque && (kind == dialect.OwnTool || kind == dialect.MCPTool):
		p.Report(diag.ToolUnknown, line, column, "name the tool alone", "%s says more than a tool's name, and is not allowed", s.text)
		return nil
	case s.name == "*" && !s.scoped:
		tools = []string{"*"}
	case kind == dialect.AbsentTool, kind == dialect.OwnTool && len(tools) == 0:
		p.Report(diag.ToolNoCounterpart, line, column, "", "%s has no counterpart here", s.text)
		return nil
	case kind == dialect.EveryMCPTool:
		p.Report(diag.ToolUnknown, line, column, "name the servers: mcp__server", "%s names no server, and allows nothing", s.text)
		return nil
	case kind == dialect.MCPTool && dialect.MatchesOwnTool(tools[0]):
		p.Report(diag.ToolUnknown, line, column, "name the server's tools one by one", "%s would be %s, which is a built-in tool as well, and is not allowed", s.text, tools[0])
		return nil
	case kind == dialect.UnknownTool: // "*" with a limit
		p.unknownTools([]toolSpec{s})
		return nil
	}
	var rules Clause
	for _, tool := range tools {
		patterns, ok := s.patterns(tool, c.Only, permission.Allow)
		if !ok {
			p.Report(diag.ToolUnknown, line, column, "write the rule under permission, for example permission: {"+tool+": {\"pattern\": allow}}", "what %s limits the tool to has no counterpart, and is not allowed", s.text)
			continue
		}
		for _, pattern := range patterns {
			r := p.rule(s.at, tool, permission.Allow)
			r.Pattern = pattern
			rules = append(rules, r)
		}
	}
	return rules
}

// allowsOne reports whether a list allows one of these tools, or one that they come with.
func allowsOne(all []toolSpec, tools []string) bool {
	for _, name := range tools {
		if row, _ := toolcatalog.Find(name); row.With != "" && !slices.Contains(tools, row.With) {
			tools = append(slices.Clip(tools), row.With)
		}
	}
	return slices.ContainsFunc(all, func(s toolSpec) bool {
		c, _ := dialect.LookUp(s.name)
		return s.name == "*" || slices.ContainsFunc(c.Allow, func(tool string) bool { return slices.Contains(tools, tool) })
	})
}

var plainToolName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// deny returns the rules that forbid s, and more where it cannot be said
// exactly.
func (p *Reader) deny(s toolSpec) Clause {
	c, kind := dialect.LookUp(s.name)
	tools := c.Deny
	line, column := s.at.Line, s.at.Column
	switch {
	case s.name == "*":
		tools = []string{"*"}
	case kind == dialect.AbsentTool:
		p.Report(diag.ToolNoCounterpart, line, column, "", "%s has no counterpart here", s.text)
		return nil
	case kind == dialect.EveryMCPTool:
		tools = []string{dialect.OtherTools}
	case kind == dialect.UnknownTool && plainToolName.MatchString(s.name):
		p.Report(diag.ToolUnknown, line, column, "use one of "+strings.Join(toolcatalog.Rules, ", ")+", or mcp__server__tool", "%s is not a tool here; it is denied by that name", s.text)
		tools = []string{s.name}
	case kind == dialect.UnknownTool:
		p.Refuse(diag.PermissionInvalid, line, column, "name tools one by one", "what %q forbids is not clear, so nothing of this file is served", s.text)
		return nil
	}
	if s.scoped && c.Only == "" && slices.ContainsFunc(tools, toolcatalog.IsWriter) {
		tools = toolcatalog.Writers // what may not be edited is not to be replaced either
	}
	var rules Clause
	for _, tool := range tools {
		patterns, ok := s.patterns(tool, c.Only, permission.Deny)
		if !ok || s.opaque {
			p.Report(diag.ToolUnknown, line, column, "write the rule under permission, for example permission: {"+tool+": {\"pattern\": deny}}", "what %s limits the tool to has no counterpart; all of %s is denied", s.text, tool)
			patterns = []string{Anything}
		}
		for _, pattern := range patterns {
			r := p.rule(s.at, tool, permission.Deny)
			r.Pattern = expandFront(pattern, p.Home)
			rules = append(rules, r)
		}
	}
	return rules
}

// patterns returns the patterns of a rule about tool that mean the same as s.
// only are the files that s is about at all. false: no pattern means it.
func (s toolSpec) patterns(tool, only string, action permission.Action) ([]string, bool) {
	switch {
	case !s.scoped && only == "":
		return []string{Anything}, true
	case !s.scoped:
		return []string{only}, true
	case only != "" && action == permission.Allow && !strings.HasSuffix(s.args, strings.TrimPrefix(only, Anything)):
		return nil, false
	}
	patterns, ok := scope(tool, s.args, action)
	// Other tools than Claude Code's take a command for the beginning of one.
	if name := strings.ToLower(s.name); ok && tool == toolcatalog.ShellExec && action == permission.Deny && name != "bash" && name != "powershell" {
		for _, p := range slices.Clone(patterns) {
			if !strings.HasSuffix(p, "*") && !slices.Contains(patterns, p+" *") {
				patterns = append(patterns, p+" *")
			}
		}
	}
	return patterns, ok
}

// scope returns the patterns that mean what args means to tool; false if no
// pattern does. Patterns to allow never match more, those to deny never less.
func scope(tool, args string, action permission.Action) ([]string, bool) {
	switch tool {
	case toolcatalog.ShellExec:
		return shellScope(args)
	case "task":
		return agentScope(args)
	case toolcatalog.WebFetch:
		return domainScope(args, action)
	case toolcatalog.ReadFile, toolcatalog.WriteFile, toolcatalog.EditFile:
		return fileScope(args, action)
	}
	return nil, false
}

// shellScope reads Bash(git:*), Bash(git *) and Bash(npm test). Only the star
// is special there.
func shellScope(args string) ([]string, bool) {
	command, ok := strings.CutSuffix(args, ":*")
	if !ok {
		command, ok = strings.CutSuffix(args, " *")
	}
	command = quoteButStars(strings.TrimSpace(command))
	switch {
	case command == "":
		return nil, false
	case ok:
		return []string{command, command + " *"}, true
	}
	return []string{command}, true
}

// quoteButStars is a pattern in which nothing but the stars of s is special.
func quoteButStars(s string) string {
	parts := strings.Split(s, "*")
	for i, part := range parts {
		parts[i] = glob.Quote(part)
	}
	return strings.Join(parts, "*")
}

// agentScope reads Agent(a, b).
func agentScope(args string) ([]string, bool) {
	var names []string
	for name := range strings.SplitSeq(args, ",") {
		name = strings.TrimSpace(name)
		if name == "" || strings.Contains(name, "*") {
			return nil, false
		}
		names = append(names, glob.Quote(name))
	}
	return names, true
}

var plainDomain = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$`)

// domainScope reads WebFetch(domain:example.com) and WebFetch(domain:*.example.com). To allow a
// domain is to allow it at its usual ports; to deny it is to deny it at any, with all below it.
func domainScope(args string, action permission.Action) ([]string, bool) {
	domain, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(args)), "domain:")
	below, star := strings.CutPrefix(domain, "*.")
	if !ok || !plainDomain.MatchString(below) {
		return nil, false
	}
	var hosts []string
	switch {
	case action == permission.Allow && star:
		hosts = []string{"+([a-z0-9.-])." + below}
	case action == permission.Allow:
		hosts = []string{below}
	case star:
		hosts = []string{"*." + below, "*." + below + ":*"}
	default:
		hosts = []string{below, below + ":*", "*." + below, "*." + below + ":*"}
	}
	var patterns []string
	for _, host := range hosts {
		patterns = append(patterns, "https://"+host+"/*", "http://"+host+"/*")
	}
	return patterns, true
}

var plainPath = regexp.MustCompile(`^[\p{L}\p{N}_.*/ ()@+=~,-]+$`)

// fileScope reads Read(src/**), whose paths are like those of a .gitignore.
// There a star stays within its folder, a name without "/" counts in every
// folder, and a folder covers all in it. "//x" is a path of the machine, "~/x" one of the
// home folder, and "/x" one of the workspace: these can only be denied.
func fileScope(args string, action permission.Action) ([]string, bool) {
	path := strings.TrimPrefix(args, "./")
	if action != permission.Allow && !strings.Contains(path, "..") {
		for _, front := range []struct{ of, is string }{{"//", "/"}, {"~/", "~/"}, {"/", ""}} {
			rest, ok := strings.CutPrefix(path, front.of)
			if rest = strings.TrimSuffix(rest, "/"); ok && plainPath.MatchString(rest) && rest[0] != '/' && rest[0] != '~' {
				rest = front.is + quoteButStars(rest)
				return []string{rest, rest + "/**"}, true
			}
		}
	}
	if !plainPath.MatchString(path) || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || strings.Contains(path, "..") {
		return nil, false
	}
	path = quoteButStars(path)
	if action == permission.Allow {
		for part := range strings.SplitSeq(path, "/") {
			if part != "**" && strings.Contains(part, "*") && strings.Contains(path, "/") {
				return nil, false // here a star crosses folders
			}
		}
		return []string{path}, true
	}
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		return nil, false
	}
	patterns := []string{path, path + "/**"}
	if !strings.Contains(path, "/") {
		patterns = append(patterns, "**/"+path, "**/"+path+"/**")
	}
	return patterns, true
}
