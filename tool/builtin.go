package tool

// Builtin returns the built-in tools, which work in ws.
func Builtin(ws *Workspace) []Tool { return BuiltinIn(ws, "") }

// BuiltinIn returns the same tools, of which shell_exec begins in dir, a folder of the
// workspace: its path there, clean and without links. Paths are relative to the
// workspace all the same.
func BuiltinIn(ws *Workspace, dir string) []Tool {
	return []Tool{
		readFile(ws),
		writeFile(ws),
		editFile(ws),
		listDir(ws),
		globFiles(ws),
		grepFiles(ws),
		shellExec(ws, dir),
	}
}
