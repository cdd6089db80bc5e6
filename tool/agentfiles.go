package tool

import (
	"io"
	"path"
	"strings"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// isAgentFile reports whether a path, relative to the workspace or absolute, is
// in a folder of agent files, or is one.
func (ws *Workspace) isAgentFile(name string) bool {
	for _, dir := range ws.opts.AgentFiles.Folders {
		if rel, ok := ws.files.RelAbs(dir); ok {
			dir = rel
		}
		if dir = path.Clean(dir); strings.EqualFold(name, dir) || len(name) > len(dir) && strings.EqualFold(name[:len(dir)+1], dir+"/") {
			return true
		}
	}
	return false
}

// withAgentFiles adds the values for which a person is asked because the call writes an
// agent file. after returns the content that the file at a path gets; nil means that it
// is unknown.
func (ws *Workspace) withAgentFiles(values []permission.Value, after func(real string) ([]byte, error)) []permission.Value {
	for _, v := range values {
		if v.Tool != toolcatalog.WriteFile && v.Tool != toolcatalog.EditFile || v.OnlyDenies() || !ws.isAgentFile(v.Text) {
			continue
		}
		v.Certainty = permission.Unknown
		v.Why = "it is a file of agents, which says what they may do"
		if change := ws.opts.AgentFiles.Change; change != nil && after != nil {
			if content, err := after(v.Text); err == nil {
				v.Why += "; " + change(v.Text, ws.contentOf(v.Text), content)
			}
		}
		values = append(values, v)
	}
	return values
}

// contentOf returns what a file holds now; nil means there is none, or none that can
// be read.
func (ws *Workspace) contentOf(real string) []byte {
	f, _, err := ws.files.OpenFile(real)
	if err != nil {
		return nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, ws.opts.MaxFileBytes))
	if err != nil {
		return nil
	}
	return content
}
