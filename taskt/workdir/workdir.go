// Package workdir is where sessions work: the workspace, a git worktree, or a folder of either.
package workdir

import (
	"context"
	"sync"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/mcpconfig"
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

	Servers Servers // whose tools its sessions have besides; nil means none

	// Own are MCP servers that the person whose session it is has brought, for all below it.
	Own []*mcpconfig.Server

	// In returns the same tools for work in a folder of it. nil means that can't be done.
	In func(folder string) []tool.Tool

	// Folder is the folder that sessions are held to, its path in Paths.Root. Empty means
	// none.
	Folder string
}

// Ends reports whether the dir is there no longer than the session that it was made for.
func (d *Dir) Ends() bool { return d != nil && (d.Worktree != nil || d.Folder != "") }

// Servers are the MCP servers that there are for sessions in a dir. by is what an agent's
// file says of them; nil says nothing.
type Servers interface {
	// Tools returns a function for the tools of now, which returns the same slice until they
	// change.
	Tools(by *mcpconfig.Selection) func() []tool.Tool

	// Ready waits until the tools that rules leave are known. It returns what went wrong.
	Ready(ctx context.Context, by *mcpconfig.Selection, rules *permission.Ruleset) (warnings []string)

	// Lacking names the servers of a file that do not run, with what to do.
	Lacking(by *mcpconfig.Selection) []string
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
