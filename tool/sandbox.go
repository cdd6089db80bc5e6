package tool

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

// Ender is a [Tool] whose calls may leave something that runs on.
type Ender interface {
	Tool

	// EndSession ends what the session's calls have left, and returns when
	// nothing of it runs any more.
	EndSession(sessionID string) error
}

// Sandboxed is a [Tool] that starts programs. They run in a sandbox that is made
// from the rules of the session.
type Sandboxed interface {
	Ender

	// Held reports whether the sandbox keeps a call of the session from all
	// files that the rules do not allow, and if not, why.
	Held(sessionID string, rules *permission.Layers) (held bool, why string)
}

// SandboxProfile returns what programs of a session with these rules may touch.
// approved says that a person has approved the call. more are folders beside those of all programs.
func (ws *Workspace) SandboxProfile(rules *permission.Layers, approved bool, more ...sandbox.Folder) *sandbox.Profile {
	o := &ws.opts.Sandbox
	gitDirs, own := gitplace.GitDirs(ws.files.Dir()), []string(nil)
	if ws.git != nil { // what its .git file says is not asked: a command may have tried to change it
		gitDirs, own = []string{ws.git.dir}, ws.git.own
	}
	found := ws.control.Find()
	closed := slices.Sorted(maps.Keys(found.Closed))
	return sandbox.NewProfile(sandbox.Input{
		Layers:    rules,
		Workspace: permission.Workspace{Root: ws.files.Dir(), Home: ws.home, As: ws.rules.As},
		Folders:   slices.Concat(sandbox.DefaultFolders(ws.home), ws.pathFolders(), present(o.Folders), more),
		GitDirs:   gitDirs,
		Bare:      found.Bare,
		GitOwn:    own,
		Protected: slices.Concat(o.Protected, ws.opts.AgentFiles.Folders, found.Agents, found.Git, closed),
		Anywhere:  ws.relativeFolders(),
		Reasons:   found.Closed,
		Hidden:    o.Hidden,
		Approved:  approved,
	})
}

// SandboxPlan returns what the sandbox makes of a profile in this workspace now.
func (ws *Workspace) SandboxPlan(profile *sandbox.Profile) (*sandbox.Plan, error) {
	s, err := sandbox.Open(sandbox.Options{Dir: ws.opts.Sandbox.Dir, Mode: ws.opts.Sandbox.Mode, Support: ws.opts.Sandbox.Support})
	if err != nil {
		return nil, err
	}
	plan, err := s.Plan(profile)
	return plan, errors.Join(err, s.Close())
}

// pathFolders are the folders of PATH in which programs lie outside of the
// system's. Those of the home folder are for the settings to name: they may hold
// more than programs.
func (ws *Workspace) pathFolders() []sandbox.Folder {
	var out []sandbox.Folder
	for _, e := range ws.env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			dir, err := filepath.EvalSymlinks(dir)
			if err == nil && filepath.IsAbs(dir) && !within(ws.home, dir) && !within(ws.files.Dir(), dir) && !within("/tmp", dir) && dir != "/" {
				out = append(out, sandbox.Folder{Path: dir, Access: sandbox.Read})
			}
		}
	}
	return out
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}
