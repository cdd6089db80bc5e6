//go:build !linux

package tool

import "os"

// openReal opens real for reading, beneath the workspace and without following
// a symbolic link.
func (ws *Workspace) openReal(real string) (*os.File, error) { return ws.openSlowly(real) }
