package app

import (
	"slices"

	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/commands"
	"github.com/agentworker/worker/tool/lsp"
	"github.com/agentworker/worker/tool/web"
)

// BuiltinTools returns the built-in tools for files, commands, language servers and the web. Commands
// begin in dir: see [tool.BuiltinIn]. place has the language servers for the files.
func BuiltinTools(p *Program, files *tool.Workspace, place *lsp.Place, dir string) []tool.Tool {
	builtin := tool.BuiltinIn(files, dir)
	return slices.Concat(place.Watch(builtin), place.Tools(), commands.Tools(builtin, files.Paths()), web.Tools(web.Options{Version: Version(), Search: p.Settings.WebSearch()}))
}
