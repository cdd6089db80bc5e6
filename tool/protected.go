package tool

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/control"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// lockNames waits until neither a file tool nor a command makes names in the workspace, and keeps
// both from it until unlock.
func (ws *Workspace) lockNames() (unlock func(), err error) {
	ws.writing.Lock()
	release, err := sandbox.LockNames(ws.opts.Sandbox.Dir)
	if err != nil {
		ws.writing.Unlock()
		return nil, fmt.Errorf("waiting for commands that make names: %w", err)
	}
	return func() { release(); ws.writing.Unlock() }, nil
}

// writable returns an error if nothing may write the file real, whatever the rules allow.
func (ws *Workspace) writable(real string) error {
	if why := gitplace.Refused(ws.files.Dir(), real); why != "" {
		return fmt.Errorf("%s is refused: %s", rootfs.Show(real), why)
	}
	return nil
}

// controlled returns why a path, relative to the workspace or absolute, is one that steers agents or
// git; what is its kind. "": it is none.
func (ws *Workspace) controlled(found *control.Found, name string) (why string, agents bool) {
	abs := name
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(ws.files.Dir(), filepath.FromSlash(name))
	}
	in := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return gitplace.Within(dir, abs) })
	}
	for dir, why := range found.Closed {
		if gitplace.Within(dir, abs) {
			return why, false
		}
	}
	switch {
	case in(found.Git):
		return "git takes its settings or programs from it", false
	case in(found.Agents), ws.anywhere(abs):
		return "it is a file of agents, which says what they may or should do", true
	}
	return "", false
}

// anywhere reports whether a path is in a folder of agent files, in whatever folder of the workspace
// that is: this may be the top of a workspace, too.
func (ws *Workspace) anywhere(abs string) bool {
	rel, ok := ws.files.RelAbs(abs)
	return ok && slices.ContainsFunc(ws.relativeFolders(), func(dir string) bool { return gitplace.Below(dir, rel) })
}

// relativeFolders are those of agent files that may be in any folder.
func (ws *Workspace) relativeFolders() (out []string) {
	for _, dir := range ws.opts.AgentFiles.Folders {
		if !filepath.IsAbs(dir) {
			out = append(out, filepath.ToSlash(filepath.Clean(dir)))
		}
	}
	return out
}

// withAgentFiles adds values that make a person be asked where a call writes an agent file.
// after returns the new content of the file at a path. A nil after means that it is unknown.
func (ws *Workspace) withAgentFiles(values []permission.Value, after func(real string) ([]byte, error)) []permission.Value {
	var found *control.Found
	for _, v := range slices.Clone(values) {
		if v.Tool != toolcatalog.WriteFile && v.Tool != toolcatalog.EditFile || v.OnlyDenies() {
			continue
		}
		if found == nil {
			found = ws.control.Find()
		}
		why, agents := ws.controlled(found, v.Text)
		if refused := gitplace.Refused(ws.files.Dir(), v.Text); refused != "" && !filepath.IsAbs(v.Text) {
			why, agents = refused, false
		}
		if why == "" {
			continue
		}
		v.Certainty, v.Why = permission.Unknown, why
		if change := ws.opts.AgentFiles.Change; agents && change != nil && after != nil {
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
