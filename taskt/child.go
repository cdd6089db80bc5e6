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

	place *workdir.Place // nil before it is opened

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
	case c.req.detached() && !def.Worktree && s.places.Of(c.parent.Path()).Ends():
		return fmt.Errorf("the agent %q is detached, and can't work in the worktree of its caller, which ends before", def.Name)
	case len(c.parent.Path()) > s.limits.Depth:
		return fmt.Errorf("agents may nest %d deep, and this one already does", s.limits.Depth)
	}
	return nil
}

// spec returns the child to open: the definition of its agent in the place that it is given, with
// what its call says.
func (c *child) spec(ctx context.Context) (child session.ChildSpec, err error) {
	s, in, def := c.service, &c.req.in, c.req.Def
	limits, err := in.Limits()
	if err != nil {
		return child, err
	}
	carried, err := s.budgets.carried(ctx, c.from, c.parent, "")
	if err != nil {
		return child, err
	}
	id := c.newID()
	if c.place, err = s.places.Settle(ctx, c.wish(id)); err != nil {
		return child, err
	}
	child.Spec, err = s.plans.session(def, len(c.parent.Path()), c.place.Dir, func(spec *session.Spec) error {
		spec.ID, spec.Parent = id, c.parent
		return c.apply(spec)
	})
	if err != nil {
		return child, err
	}
	child.Warnings = append(slices.Clip(child.Warnings), s.plans.lacking(ctx, def, child.ToolSet, c.place.Dir)...)
	child.Budget = s.budgets.meter(def, c.parent, limits, carried)
	if child.Prompt, child.Fork, err = c.prompt(child.System); err != nil {
		return child, err
	}
	child.Attachments = in.Attachments
	if host := c.wait.host; host != nil {
		child.Bound, child.Stays = true, host.stays
	}
	if def.Timeout == 0 && in.TimeoutSeconds == 0 {
		child.BackgroundTime = max(0, s.limits.BackgroundTime-s.limits.ChildTime)
	}
	return child, nil
}

// newID is the id of the session to open.
func (c *child) newID() string {
	switch {
	case c.from == nil:
		return record.NewID("ses")
	case c.from.claimed == nil:
		return record.ResumedID(c.from.record.ID)
	}
	return c.from.record.ID
}

// wish says where the child is to work: where its parent does, or in a worktree of its own, and
// in the folder that the call names.
func (c *child) wish(id string) workdir.Wish {
	w := workdir.Wish{
		SessionID: id, Agent: c.req.Def.Name, Below: c.parent.Path(), Root: c.parent.Root(),
		Isolated: c.req.Def.Worktree, Cwd: c.req.in.Cwd, WriteRoots: c.req.in.WriteRoots,
	}
	if c.from != nil {
		w.Isolated, w.From = w.Isolated || c.from.isolated, c.from.worktree
	}
	return w
}

// apply adds to the spec of an agent in the child's place what the call says.
func (c *child) apply(spec *session.Spec) (err error) {
	s, in, def, at := c.service, &c.req.in, c.req.Def, c.place
	spec.Description, spec.Nested, spec.Router = in.Description, !def.Inspectable, s.router
	spec.Background, spec.Detached = c.req.background(), c.req.detached()
	spec.Cleanup = c.req.cleanup() && (c.from == nil || c.from.claimed != nil)
	c.req.apply(def, spec.Background, s.limits, spec)
	if c.from != nil {
		c.from.begin(spec)
	}
	if w := at.Made; w != nil {
		spec.Paths, spec.Worktree = &w.Paths, &record.Worktree{Path: w.Worktree.Path, Branch: w.Worktree.Branch}
	}
	if in.AllowedTools != nil {
		if err := spec.ToolSet.CheckAllowed(in.AllowedTools); err != nil {
			return fmt.Errorf("allowedTools: %w", err)
		}
		spec.AllowedTools = in.AllowedTools
	}
	if spec.Rules, err = spec.Rules.Append(at.Rules...); err != nil {
		return err
	}
	if !in.Plain() {
		spec.Terms = newTerms(spec.Rules, in, c.service.plans.files)
	}
	spec.ResidentFile, err = workdir.ResidentFile(at.Root, cmp.Or(in.ResidentFile, def.ResidentFile))
	if err != nil && c.from != nil { // the conversation has what was in it
		return nil
	}
	return err
}

// forkIntro stands between the conversation of the caller and the task of the subagent.
const forkIntro = `What stands above is the conversation of the agent that has called you, up to its call. It is what you know; what it was ` +
	`asked is not your task. From here on you are another agent, with the instructions below. Tools that you may not use are refused.

`

// prompt is what the child is told, and the conversation of its parent that it starts from, if the
// call or its agent asks for it. For a caller without a conversation only the call counts, and is
// refused.
func (c *child) prompt(system string) (string, *session.Fork, error) {
	in := &c.req.in
	turns := c.req.Def.ForkContext
	if in.ForkContext != nil {
		turns = int(*in.ForkContext)
	}
	if turns == 0 || c.from != nil { // its own conversation begins with its caller's
		return in.Prompt, nil, nil
	}
	fork := c.parent.Fork(turns)
	switch {
	case fork == nil && in.ForkContext != nil:
		return "", nil, errors.New("forkContext: you have no conversation here that a subagent could go on from; leave it out, and put what it needs to know into the prompt")
	case fork == nil:
		return in.Prompt, nil, nil
	}
	state := c.parent.StateText()
	if state != "" {
		state = "What the agent that has called you has noted:\n" + state + "\n"
	}
	return forkIntro + state + system + "\n\nYour task:\n" + in.Prompt, fork, nil
}

// compareTime bounds the comparison of a worktree with what it was made of.
const compareTime = 2 * time.Minute

// leavePlace ends the use of the child's place, and notes what was changed in its worktree. If all
// went well a worktree that was not used is removed. Any other is kept.
func (c *child) leavePlace(ctx context.Context, out *session.Outcome) {
	defer c.place.Leave()
	if c.place.Made == nil {
		return
	}
	s, w := c.service, c.place.Made.Worktree
	if err := c.place.Made.Close(); err != nil {
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
