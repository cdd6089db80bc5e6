package taskt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/taskt/workdir"
)

// child is the session that runs a request. It begins anew, resumes another session, or was
// claimed.
type child struct {
	*session.Child // nil means it is not open

	service *Service
	req     *request
	parent  *session.Session
	from    *resumption // nil means it begins anew
	wait    *wait       // of its caller

	dir        *workdir.Dir      // the worktree that was made for it; nil means none
	folderID   string            // its id among the dirs, if it is held to a folder
	lock       *workdir.Lock     // of the folders that it may write in; nil means all
	restricted []permission.Rule // what holds for it besides its agent's rules

	unfinished []func(ctx context.Context) // end the calls of it that wait for claimed children

	mu    sync.Mutex
	slot  *slots.Slot // nil means it waits for one
	moved bool        // to the background
}

// check returns why a caller may not have such a child.
func (c *child) check() error {
	s, def := c.service, c.req.Def
	byAgent := c.parent.Agent() != ""
	switch {
	case byAgent && c.req.in.Detached:
		return errors.New("detached is for hosts and agent files, and not for an agent's calls")
	case byAgent && c.req.cleanup():
		return errors.New("cleanup is for hosts and programs: an agent's call can't have what was done deleted")
	case c.req.Err != nil:
		return c.req.Err
	case c.req.detached() && !def.Worktree && s.dirs.Of(c.parent.Path()).Ends():
		return fmt.Errorf("the agent %q is detached, and can't work in the worktree of its caller, which ends before", def.Name)
	case len(c.parent.Path()) > s.limits.Depth:
		return fmt.Errorf("agents may nest %d deep, and this one already does", s.limits.Depth)
	}
	return nil
}

// spec returns the child to open.
func (c *child) spec(ctx context.Context) (session.ChildSpec, error) {
	s, in, def := c.service, &c.req.in, c.req.Def
	child := session.ChildSpec{Prompt: in.Prompt, Attachments: in.Attachments}
	if host := c.wait.host; host != nil {
		child.Bound, child.Stays = true, host.stays
	}
	if def.Timeout == 0 && in.TimeoutSeconds == 0 {
		child.BackgroundTime = max(0, s.limits.BackgroundTime-s.limits.ChildTime)
	}
	var err error
	spec := &child.Spec
	if *spec, err = s.plans.spec(def, len(c.parent.Path())); err != nil {
		return child, err
	}
	spec.Parent = c.parent
	spec.Background, spec.Detached = c.req.background(), c.req.detached()
	c.req.apply(def, spec.Background, s.limits, spec)
	spec.Router = s.router
	if c.from != nil {
		c.from.begin(spec)
	}
	limits, err := in.Limits()
	if err != nil {
		return child, err
	}
	carried, err := s.budgets.carried(ctx, c.from, c.parent, "")
	if err != nil {
		return child, err
	}
	spec.Budget = s.budgets.meter(def, c.parent, limits, carried)
	for _, step := range []func(context.Context, *session.ChildSpec) error{c.settle, c.narrow, c.equip, c.reside, c.fork} {
		if err := step(ctx, &child); err != nil {
			return child, err
		}
	}
	spec.Warnings = append(slices.Clip(spec.Warnings), s.plans.lacking(ctx, def, spec.ToolSet, c.at())...)
	if !in.Plain() {
		spec.Terms = newTerms(spec.Rules, in)
	}
	spec.Nested = !def.Inspectable
	spec.Cleanup = c.req.cleanup() && (c.from == nil || c.from.claimed != nil)
	spec.Description = in.Description
	return child, nil
}

// settle sets where the child works: where its parent does, or in a worktree of its own, and in
// the folder that the call names.
func (c *child) settle(ctx context.Context, spec *session.ChildSpec) error {
	s, def := c.service, c.req.Def
	at := s.dirs.Of(c.parent.Path())
	if def.Worktree || c.from != nil && c.from.isolated {
		if s.isolate == nil {
			return fmt.Errorf("the agent %q works in a git worktree (isolation: worktree), and none is made here", def.Name)
		}
		from := s.plans.root
		if at != nil {
			from = at.Paths.Root
		}
		if c.from != nil {
			from = cmp.Or(c.from.worktree, from)
		}
		spec.ID = cmp.Or(spec.ID, record.NewID("ses"))
		made, err := s.isolate(ctx, from, spec.ID)
		if err != nil {
			return fmt.Errorf("the agent %q works in a git worktree (isolation: worktree): %w", def.Name, err)
		}
		if at != nil {
			made.Own = at.Own
		}
		at, c.dir = made, made
		spec.Paths = &at.Paths
		spec.Worktree = &record.Worktree{Path: at.Worktree.Path, Branch: at.Worktree.Branch}
		s.dirs.Add(spec.ID, at)
	}
	at, err := c.hold(at, spec)
	if err != nil || at == nil {
		return err
	}
	return s.plans.moveTo(at, def, &spec.Spec)
}

// hold holds the child to the folder that the call names, if any. Rules that no other lifts
// deny it the other files of the workspace, and its commands begin in the folder. All below
// it are held to it too.
func (c *child) hold(at *workdir.Dir, spec *session.ChildSpec) (*workdir.Dir, error) {
	if c.req.in.Cwd == "" {
		return at, nil
	}
	s := c.service
	held := *s.plans.home()
	if at != nil {
		held = *at
	}
	if held.In == nil {
		return nil, errors.New("cwd: no agent can be held to a folder here")
	}
	folder, err := workdir.Folder(held.Paths.Root, held.Folder, c.req.in.Cwd)
	if err != nil {
		return nil, err
	}
	if folder == "." {
		return at, nil
	}
	if err := c.restrict(spec, workdir.FolderRules(folder)); err != nil {
		return nil, err
	}
	held.Folder, held.Tools = folder, held.In(folder)
	spec.ID = cmp.Or(spec.ID, record.NewID("ses"))
	s.dirs.Add(spec.ID, &held)
	c.folderID = spec.ID
	return &held, nil
}

// narrow holds the child, and all below it, to the tools and to the folders to write in that
// the call names.
func (c *child) narrow(_ context.Context, spec *session.ChildSpec) error {
	in := &c.req.in
	if in.AllowedTools != nil {
		if err := spec.ToolSet.CheckAllowed(in.AllowedTools); err != nil {
			return fmt.Errorf("allowedTools: %w", err)
		}
		spec.AllowedTools = in.AllowedTools
	}
	if in.WriteRoots == nil {
		return nil
	}
	folder := ""
	spec.ID = cmp.Or(spec.ID, record.NewID("ses"))
	if at := c.service.dirs.Of(c.parent.Path().Child(spec.ID, c.req.Def.Name)); at != nil {
		folder = at.Folder
	}
	roots, rules, err := workdir.WriteRoots(c.root(spec), folder, in.WriteRoots)
	if err != nil {
		return err
	}
	if c.lock, err = c.service.locks.Acquire(spec.ID, c.req.Agent, c.parent.Path(), roots); err != nil {
		return err
	}
	return c.restrict(spec, rules)
}

// equip gives the child its skills.
func (c *child) equip(_ context.Context, spec *session.ChildSpec) error {
	s, path := c.service, c.parent.Path()
	if spec.ID != "" {
		path = path.Child(spec.ID, c.req.Def.Name)
	}
	return s.plans.equip(c.req.Def, &spec.Spec, s.dirs.Of(path))
}

// root is the top folder of the files of the session to open.
func (c *child) root(spec *session.ChildSpec) string {
	if spec.Paths != nil {
		return spec.Paths.Root
	}
	return c.parent.Root()
}

// at is where the child works; nil means the workspace.
func (c *child) at() *workdir.Dir {
	if c.dir != nil {
		return c.dir
	}
	return c.service.dirs.Of(c.parent.Path())
}

// restrict adds rules that hold for the child, whatever agent it becomes.
func (c *child) restrict(spec *session.ChildSpec, rules []permission.Rule) (err error) {
	c.restricted = append(c.restricted, rules...)
	spec.Rules, err = spec.Rules.Append(rules...)
	return err
}

// reside puts a file before the prompt of the child, if the call or its agent names one.
func (c *child) reside(_ context.Context, spec *session.ChildSpec) (err error) {
	spec.ResidentFile, err = workdir.ResidentFile(c.root(spec), cmp.Or(c.req.in.ResidentFile, c.req.Def.ResidentFile))
	if err != nil && c.from != nil { // the conversation has what was in it
		return nil
	}
	return err
}

// forkIntro stands between the conversation of the caller and the task of the subagent.
const forkIntro = `What stands above is the conversation of the agent that has called you, up to its call. It is what you know; what it was ` +
	`asked is not your task. From here on you are another agent, with the instructions below. Tools that you may not use are refused.

`

// fork starts the child from the conversation of its parent, if the call or its agent asks for
// it. For a caller without a conversation only the call counts, and is refused.
func (c *child) fork(_ context.Context, spec *session.ChildSpec) error {
	in := &c.req.in
	turns := c.req.Def.ForkContext
	if in.ForkContext != nil {
		turns = int(*in.ForkContext)
	}
	if turns == 0 || c.from != nil { // its own conversation begins with its caller's
		return nil
	}
	if spec.Fork = c.parent.Fork(turns); spec.Fork == nil {
		if in.ForkContext != nil {
			return errors.New("forkContext: you have no conversation here that a subagent could go on from; leave it out, and put what it needs to know into the prompt")
		}
		return nil
	}
	state := c.parent.StateText()
	if state != "" {
		state = "What the agent that has called you has noted:\n" + state + "\n"
	}
	spec.Prompt = forkIntro + state + spec.System + "\n\nYour task:\n" + in.Prompt
	return nil
}

// abandonDir gives up the dir of a child that was not opened.
func (c *child) abandonDir(ctx context.Context) error {
	c.service.dirs.Remove(c.folderID)
	c.service.locks.Release(c.lock)
	if c.dir == nil {
		return nil
	}
	c.service.dirs.Remove(c.dir.Worktree.ID)
	return errors.Join(c.dir.Close(), c.dir.Worktree.Discard(context.WithoutCancel(ctx)))
}

// compareTime bounds the comparison of a worktree with what it was made of.
const compareTime = 2 * time.Minute

// leaveDir ends the use of the child's dir, and notes what was changed there. If all went well
// a worktree that was not used is removed. Any other is kept.
func (c *child) leaveDir(ctx context.Context, out *session.Outcome) {
	s := c.service
	s.dirs.Remove(c.folderID)
	s.locks.Release(c.lock)
	if c.dir == nil {
		return
	}
	w := c.dir.Worktree
	defer s.dirs.Remove(w.ID)
	if err := c.dir.Close(); err != nil {
		s.log.Error("ending the work in a worktree", "session", c.ID(), "err", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), compareTime)
	defer cancel()
	note := record.Worktree{Path: w.Path, Branch: w.Branch}
	changes, err := w.Changes(ctx)
	if err == nil {
		note.Diffstat, note.Files = changes.Diffstat(), len(changes.Files)
		if out.Err == nil {
			note.Removed, err = w.DiscardUnused(ctx)
		}
	}
	if err != nil {
		note.Error = errtext.Of(err)
		s.log.Error("comparing a worktree", "session", c.ID(), "err", err)
	}
	if err := c.SetWorktree(note); err != nil {
		s.log.Error("noting what became of a worktree", "session", c.ID(), "err", err)
	}
}
