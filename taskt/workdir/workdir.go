// Package workdir is where sessions work: the workspace, a git worktree, or a folder of either.
package workdir

import (
	"sync"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Dir is where a session and those below it work.
type Dir struct {
	Worktree *worktree.Worktree   // nil means it is the workspace
	Paths    permission.Workspace // what paths in it are relative to
	Tools    []tool.Tool          // the ones that work there
	Close    func() error         // ends what sessions have left there

	// In returns the same tools for work in a folder of it. nil means that can't be done.
	In func(folder string) []tool.Tool

	// Folder is the folder that sessions are held to, its path in Paths.Root. Empty means
	// none.
	Folder string
}

// Registry has the dirs in use. It is safe for concurrent use.
type Registry struct{ bySession sync.Map }

// Add notes the dir that was made for a session.
func (r *Registry) Add(sessionID string, d *Dir) { r.bySession.Store(sessionID, d) }

// Remove forgets the dir of a session.
func (r *Registry) Remove(sessionID string) { r.bySession.Delete(sessionID) }

// Of returns where the session at the end of a path works: the dir of the nearest session on
// the path that has one. nil means the workspace.
func (r *Registry) Of(path event.Path) *Dir {
	for i := len(path) - 1; i >= 0; i-- {
		if found, ok := r.bySession.Load(path[i].SessionID); ok {
			return found.(*Dir)
		}
	}
	return nil
}
