package taskt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/instructions"
	"github.com/agentworker/worker/tool"
)

// Place is where a session works, and those below it: a git worktree, a folder, or a
// folder of a worktree.
type Place struct {
	Worktree *worktree.Worktree   // nil means it is the workspace
	Paths    permission.Workspace // what paths in it are relative to
	Tools    []tool.Tool          // which work there
	Close    func() error         // ends what they have left

	// In returns the same tools for work in a folder of it, as [Options.In] does.
	In func(dir string) []tool.Tool

	// Dir is the folder that sessions are held to, its path in the place; empty means none.
	Dir string
}

// places are those in use, by the sessions that they were made for.
type places struct{ byID sync.Map }

// of returns the place in which a session works; nil means the workspace.
func (p *places) of(s *session.Session) *Place {
	path := s.Path()
	for i := len(path) - 1; i >= 0; i-- {
		if found, ok := p.byID.Load(path[i].SessionID); ok {
			return found.(*Place)
		}
	}
	return nil
}

// settle has the child that is to be opened work where its parent does, or in a
// worktree of its own, if its file says so.
func (c *call) settle(ctx context.Context, spec *session.Spec) error {
	s := c.service
	at := s.places.of(c.parent)
	if c.def.Worktree || c.resumes != nil && c.resumes.isolated {
		if s.isolate == nil {
			return fmt.Errorf("the agent %q works in a git worktree (isolation: worktree), and none is made here", c.def.Name)
		}
		from := s.root
		if at != nil {
			from = at.Paths.Root
		}
		if c.resumes != nil {
			from = cmp.Or(c.resumes.from, from)
		}
		spec.ID = cmp.Or(spec.ID, store.NewID("ses"))
		var err error
		if at, err = s.isolate(ctx, from, spec.ID); err != nil {
			return fmt.Errorf("the agent %q works in a git worktree (isolation: worktree): %w", c.def.Name, err)
		}
		c.place = at
		spec.Paths = &at.Paths
		spec.Worktree = &store.Worktree{Path: at.Worktree.Path, Branch: at.Worktree.Branch}
		s.places.byID.Store(spec.ID, at)
	}
	at, err := c.hold(at, spec)
	if err != nil {
		return errors.Join(err, c.abandon(ctx))
	}
	if at == nil {
		return nil
	}
	if err := s.furnish(c.def, at, spec); err != nil {
		return errors.Join(err, c.abandon(ctx))
	}
	return nil
}

// furnish has a child of an agent work in a place.
func (s *Service) furnish(def *agentdefs.Definition, at *Place, spec *session.Spec) (err error) {
	spec.System = SystemPrompt(def, Setting{
		Root: at.Paths.Root, Dir: at.Dir, Child: true, Text: instructions.NewReader(at.Paths.Root, s.log).Current(),
		Memory: s.remembered(def),
	})
	spec.ToolSet, err = s.toolSet(def, at.Tools)
	return err
}

// abandon gives up a place in which nothing was done.
func (c *call) abandon(ctx context.Context) error {
	c.service.places.byID.Delete(c.held)
	c.service.claims.release(c)
	if c.place == nil {
		return nil
	}
	c.service.places.byID.Delete(c.place.Worktree.ID)
	return errors.Join(c.place.Close(), c.place.Worktree.Discard(context.WithoutCancel(ctx)))
}

// leaveTime bounds the comparison of a worktree with what it was made of.
const leaveTime = 2 * time.Minute

// leave ends the use of the child's place, and notes what was changed there. A
// worktree that was not used is removed, if all went well; any other is kept.
func (c *call) leave(ctx context.Context, out *session.Outcome) {
	c.service.places.byID.Delete(c.held)
	c.service.claims.release(c)
	if c.place == nil {
		return
	}
	s, w := c.service, c.place.Worktree
	defer s.places.byID.Delete(w.ID)
	if err := c.place.Close(); err != nil {
		s.log.Error("ending the work in a worktree", "session", c.child.ID(), "err", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	note := store.Worktree{Path: w.Path, Branch: w.Branch}
	changes, err := w.Changes(ctx)
	if err == nil {
		note.Diffstat, note.Files = changes.Diffstat(), len(changes.Files)
		if out.Err == nil {
			note.Removed, err = w.DiscardUnused(ctx)
		}
	}
	if err != nil {
		note.Error = errtext.Of(err)
		s.log.Error("comparing a worktree", "session", c.child.ID(), "err", err)
	}
	if err := c.child.SetWorktree(note); err != nil {
		s.log.Error("noting what became of a worktree", "session", c.child.ID(), "err", err)
	}
}
