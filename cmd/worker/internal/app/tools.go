package app

import (
	"slices"

	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/commands"
	"github.com/agentworker/worker/tool/web"
)

// BuiltinTools returns the built-in tools for files, commands and the web. Commands begin in dir:
// see [tool.BuiltinIn].
func BuiltinTools(p *Program, files *tool.Workspace, dir string) []tool.Tool {
	builtin := tool.BuiltinIn(files, dir)
	return slices.Concat(builtin, commands.Tools(builtin, files.Paths()), web.Tools(web.Options{Version: Version(), Search: p.Settings.WebSearch()}))
}
