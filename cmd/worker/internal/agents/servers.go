package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/lsp"
	"github.com/agentworker/worker/tool/mcpclient"
)

// serverNames are the names of tools that the servers of an agent have, as they last listed
// them.
func serverNames(servers *mcpclient.Servers, d *agentdefs.Definition) []string {
	var names []string
	for _, t := range servers.Tools(d.Servers, nil)() {
		names = append(names, t.Spec().Name)
	}
	return names
}

// missingTools are the names of tools that a file allows and that are not here.
func (p commands) missingTools(servers *mcpclient.Servers, d *agentdefs.Definition) []string {
	here := serverNames(servers, d)
	if p.Settings.WebSearch().Provider != "" {
		here = append(here, toolcatalog.WebSearch)
	}
	return d.Missing(func(name string) bool {
		return agentdefs.Exists(name) || slices.ContainsFunc(here, func(tool string) bool { return permission.NamesTool(name, tool) })
	})
}

// lackingLanguageServers returns a sentence about tools in an agent's file that need a language
// server, where none is here; else it is empty.
func lackingLanguageServers(place *lsp.Place, d *agentdefs.Definition) string {
	if place.Useful() {
		return ""
	}
	others := func(name string) bool {
		return !slices.ContainsFunc(place.Tools(), func(t tool.Tool) bool { return t.Spec().Name == name })
	}
	var names []string
	for _, n := range d.Named {
		means := n.Tools
		if len(means) == 0 {
			means = []string{strings.ToLower(n.Name)}
		}
		if !slices.ContainsFunc(means, others) && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("no language server here is for files of this workspace, which %s needs: 'worker lsp list' shows those that there are", strings.Join(names, ", "))
}

// brokenLanguageServers returns what is wrong with the repository's files of language servers.
func brokenLanguageServers(root string) (found []agentdefs.Diagnostic) {
	for _, f := range lsp.Files(root) {
		if _, err := f.Read(); err != nil {
			found = append(found, agentdefs.LanguageServerInvalid(f.Shown, strings.TrimPrefix(err.Error(), f.Shown+": ")))
		}
	}
	return found
}

// isServers reports whether a name in a file means tools of an MCP server.
func isServers(name string) bool {
	return strings.HasPrefix(name, "mcp_") || strings.Contains(name, "/")
}

// lackingServers says in sentences which MCP servers an agent's file needs and does not have.
func (p commands) lackingServers(servers *mcpclient.Servers, d *agentdefs.Definition) []string {
	lacking := servers.Lacking(d.Servers)
	for _, name := range p.missingTools(servers, d) {
		if isServers(name) {
			lacking = append(lacking, fmt.Sprintf("no MCP server here has the tool %s: 'worker mcp servers list' shows the servers that there are", name))
		}
	}
	return lacking
}

// servedBy says which MCP servers an agent has, and whether they run; "" means none.
func servedBy(servers *mcpclient.Servers, d *agentdefs.Definition) string {
	all, _ := servers.Selected(d.Servers)
	var texts []string
	for _, st := range all {
		text := st.Name
		if st.State != mcpclient.Ready {
			text += " (" + string(st.State) + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
