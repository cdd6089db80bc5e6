package taskt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/taskt/budget"
	"github.com/agentworker/worker/taskt/offer"
)

// ClaimSessions begins to claim the sessions of processes that have ended, now and until the
// service is closed. It is for sessions with [session.Options.TakesOver], and is called once.
func (s *Service) ClaimSessions(ctx context.Context) {
	s.sessions.AdoptWith(ctx, &claimer{service: s})
}

// claimer resumes the subagents of processes that have ended.
type claimer struct {
	service *Service
	meters  map[string]*budget.Meter // of sessions that have ended, by their ids
}

var _ recovery.Adopter = (*claimer)(nil)

// May implements [recovery.Adopter].
func (c *claimer) May(_ context.Context, st *log.State) error {
	r, s := &st.Record, c.service
	switch {
	case r.Takeovers-r.HandOvers >= s.limits.Takeovers:
		return fmt.Errorf("it may not be taken over more than %d times (--takeovers)", s.limits.Takeovers)
	case !st.Prompted:
		return errors.New("it had not begun to work")
	case st.Terms == nil:
		return errors.New("its log does not say what it was allowed")
	case r.Worktree != nil:
		return errors.New("it works in a worktree of its own")
	case r.Depth > s.limits.Depth:
		return fmt.Errorf("agents may nest %d deep here", s.limits.Depth)
	}
	t, err := parseTerms(r.ID, st.Terms)
	if err == nil {
		err = t.Files.Same(s.plans.files)
	}
	if err != nil {
		return err
	}
	for _, call := range st.Open {
		if !startsSubagents(call.Name) && !s.changesNothing(call.Name) {
			return fmt.Errorf("it is not known whether its call of %s was made", call.Name)
		}
	}
	return nil
}

// startsSubagents reports whether the calls of a tool may start subagents, and change nothing
// besides.
func startsSubagents(name string) bool {
	return name == toolcatalog.Task || name == toolcatalog.Skill
}

// changesNothing reports whether a call of a tool may be made again.
func (s *Service) changesNothing(name string) bool {
	for _, t := range s.withTask(s.plans.tools, offer.Host) {
		if spec := t.Spec(); spec.Name == name {
			return spec.ReadOnly
		}
	}
	return false
}

// claiming is the work of one [claimer.Adopt].
type claiming struct {
	*claimer
	claimed []*recovery.Claimed
	live    map[string]*session.Session
	calls   []*call                              // of agents' sessions, parents first
	made    map[string]map[string]*record.Record // as madeBy returns it, by the ids of sessions
	failed  map[string]error
}

// Adopt implements [recovery.Adopter].
func (c *claimer) Adopt(ctx context.Context, claimed []*recovery.Claimed) {
	n := &claiming{c, claimed, make(map[string]*session.Session), nil, make(map[string]map[string]*record.Record), make(map[string]error)}
	log := c.service.log
	for _, t := range claimed {
		if err := n.open(ctx, t); err != nil {
			n.failed[t.Record.ID] = err
		}
	}
	for _, t := range slices.Backward(claimed) { // those below first
		err := n.failed[t.Record.ID]
		if err == nil {
			log.Warn("this process resumes a session whose process has ended", "session", t.Record.ID, "agent", t.Record.Agent, "takeover", t.Record.Takeovers)
			continue
		}
		if err := c.service.sessions.Store().Recovery.Abandon(ctx, t, err); err != nil {
			log.Error("ending a session that can't be resumed", "session", t.Record.ID, "err", err)
		}
	}
	for _, t := range claimed {
		if s := n.live[t.Record.ID]; s != nil {
			if err := n.notify(ctx, s, t); err != nil {
				log.Error("telling a session of the ends of its subagents", "session", s.ID(), "err", err)
			}
			n.reattach(s)
		}
	}
	n.start()
	for _, t := range claimed {
		if s := n.live[t.Record.ID]; s != nil && s.Agent() == "" {
			n.endWithCalls(s)
		}
	}
}

// open makes a claimed session one that runs here.
func (n *claiming) open(ctx context.Context, t *recovery.Claimed) (err error) {
	s, r := n.service, &t.Record
	if r.Agent == "" {
		spec := session.Spec{Approver: approval.AlwaysYes, Claimed: t}
		if spec.ToolSet, err = s.forHosts(); err == nil {
			n.live[r.ID], err = s.sessions.Open(ctx, spec)
		}
		return err
	}
	if n.failed[r.ParentID] != nil && !r.Detached {
		return errors.New("its caller can't be resumed")
	}
	parent, ok := n.live[r.ParentID]
	if !ok {
		if parent, err = n.standIn(ctx, r.Path[:len(r.Path)-1]); err != nil {
			return err
		}
	}
	if n.made[r.ID], err = n.madeBy(ctx, t); err != nil {
		return err
	}
	c, err := s.claimedCall(ctx, t, parent)
	if err != nil {
		return err
	}
	if err := c.child.open(ctx, nil); err != nil {
		return err
	}
	n.live[r.ID] = c.child.Session
	n.calls = append(n.calls, c)
	return nil
}

// claimedCall returns the call whose subagent was claimed.
func (s *Service) claimedCall(ctx context.Context, t *recovery.Claimed, parent *session.Session) (*call, error) {
	r := &t.Record
	own, err := readTerms(ctx, s.sessions.Store(), r.Path)
	if err != nil {
		return nil, err
	}
	in := own.input()
	in.AgentType, in.Description, in.Background, in.Detached = r.Agent, r.Description, new(r.Background), r.Detached
	by := offer.Host
	if caller := parent.Agent(); caller != "" {
		switch def, ok := s.agents.Snapshot().Agent(caller); {
		case ok:
			by = offer.CallerOf(def)
		case caller != DefaultPrimary || len(parent.Path()) > 1:
			return nil, fmt.Errorf("the agent %q, which has called it, is not defined any more", caller)
		}
	}
	from := &resumption{record: r, claimed: t}
	from.ID, from.FromStep, from.Model = r.Resumes, r.FromStep, r.Model
	if from.Messages, from.task, err = s.sessions.Store().Transcripts.Resumed(ctx, &t.Record, t.State); err != nil {
		return nil, err
	}
	if err := from.readAbove(ctx, s.sessions.Store(), own, parent); err != nil {
		return nil, err
	}
	c := s.prepare(by, in)
	if c.req.Err != nil {
		return nil, c.req.Err
	}
	c.child.from, c.child.parent = from, parent
	return c, nil
}

// standIn returns a stand-in for the parent of a detached session, which has ended or is about
// to. The rules and budgets of the parent hold, and those above it.
func (n *claiming) standIn(ctx context.Context, path event.Path) (*session.Session, error) {
	s := n.service
	spec := session.Spec{}
	for i := range path {
		at := path[:i+1]
		if live := n.live[at[i].SessionID]; live != nil {
			spec.Budget = live.Budget()
		}
		if at[i].AgentType == "" {
			continue
		}
		t, err := readTerms(ctx, s.sessions.Store(), at)
		if err != nil {
			return nil, err
		}
		if t.Call != nil && (t.Call.Cwd != "" || t.Call.AllowedTools != nil) {
			return nil, errors.New("its caller, which has ended, was held to a folder or to some tools")
		}
		rules, err := t.ruleset(at[i].SessionID)
		if err != nil {
			return nil, err
		}
		spec.Within = append(spec.Within, rules)
		if def, ok := s.agents.Snapshot().Agent(at[i].AgentType); ok {
			spec.Hooks = append(spec.Hooks, def.Hooks...)
		}
		if n.live[at[i].SessionID] == nil {
			if spec.Budget, err = n.meter(ctx, at, spec.Budget); err != nil {
				return nil, err
			}
		}
	}
	r, err := s.sessions.Store().Index.Get(ctx, path[len(path)-1].SessionID)
	if err != nil {
		return nil, err
	}
	return s.sessions.StandIn(r, spec), nil
}

// meter returns the meter of a session that has ended. All that were below it share the meter.
// above is the meter of the session above.
func (n *claiming) meter(ctx context.Context, path event.Path, above session.Budget) (session.Budget, error) {
	id := path[len(path)-1].SessionID
	if made := n.meters[id]; made != nil {
		return made, nil
	}
	sets, err := budget.Own(ctx, n.service.sessions.Store(), path)
	if err != nil || len(sets) == 0 {
		return above, err
	}
	parent, _ := above.(*budget.Meter)
	if n.meters == nil {
		n.meters = make(map[string]*budget.Meter)
	}
	n.meters[id] = budget.New(parent, n.service.budgets.prices, sets...)
	return n.meters[id], nil
}

// notify tells a session of the ends of its background subagents, as far as its process has
// not.
func (n *claiming) notify(ctx context.Context, s *session.Session, t *recovery.Claimed) error {
	notices, err := n.service.sessions.Store().Notices.Missing(ctx, &t.Record, t.State)
	for _, notice := range notices {
		s.Notify(notice.ID, notice.Text)
	}
	return err
}

// start continues the subagents in the background. The others continue when their callers come
// to the calls that wait for them.
func (n *claiming) start() {
	calls := slices.DeleteFunc(slices.Clone(n.calls), func(c *call) bool { return !c.req.background() })
	for _, c := range calls {
		c.wait.ended = make(chan struct{})
	}
	for _, c := range calls {
		if err := c.goBackground(); err != nil {
			c.child.Abandon(context.Background(), err)
			c.child.notifyParent(c.wait.final)
		}
	}
}

// endWithCalls ends the root session of a caller with the last of its subagents: no further
// calls come.
func (n *claiming) endWithCalls(s *session.Session) {
	end := func(ctx context.Context) {
		within, release := s.Bound(ctx)
		defer release()
		for _, c := range n.calls {
			if c.child.parent != s {
				continue
			}
			select {
			case <-c.wait.ended:
			case <-within.Done():
			}
		}
		status, why := n.endOf(s)
		if within.Err() != nil {
			status, why = record.Cancelled, context.Cause(within)
		}
		if err := s.End(status, why); err != nil && !errors.Is(err, record.ErrEnded) {
			n.service.log.Error("ending a session", "session", s.ID(), "err", err)
		}
	}
	if err := n.service.detached.begin(end); err != nil {
		end(context.Background())
	}
}

// endOf returns how the root session of a caller ends.
func (n *claiming) endOf(root *session.Session) (record.Status, error) {
	status, err := n.service.sessions.Store().Index.CallerEnd(context.Background(), root.Path())
	if err == nil && status == record.Interrupted {
		err = errors.New("its process ended while it ran")
	}
	return status, err
}
