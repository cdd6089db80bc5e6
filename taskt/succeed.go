package taskt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/budget"
	"github.com/agentworker/worker/taskt/planexit"
)

// successor returns what has a session of def go on as the agent that its file names
// (planExit).
func (s *Service) successor(def *agentdefs.Definition) (planexit.Next, error) {
	to, ok := s.agents.Snapshot().Agent(def.PlanExit)
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no agent %q, which planExit of %s names", def.PlanExit, def.Name)
	case to.Worktree && !def.Worktree:
		return nil, fmt.Errorf("the agent %q works in a git worktree (isolation: worktree), and so must %s, which would go on as it", to.Name, def.Name)
	}
	return func(sessionID string) error {
		of, ok := s.sessions.Live(sessionID)
		if !ok {
			return fmt.Errorf("session %s does not run here", sessionID)
		}
		return s.succeed(of, to)
	}, nil
}

// succeed has a session go on as another agent, which may do no more than it could if
// it had been called in the same place.
func (s *Service) succeed(of *session.Session, to *agentdefs.Definition) error {
	spec, err := s.spec(to, len(of.Path())-1)
	if err != nil {
		return err
	}
	if to.Budget != nil {
		if meter, _ := of.Budget().(*budget.Meter); !meter.Holds(*to.Budget) {
			return fmt.Errorf("the budget of the agent %q was not yet set when this session began: begin another one", to.Name)
		}
	}
	var in *Input
	if parent := of.Parent(); parent != nil {
		made, ok := s.planning.Load(of.ID())
		if !ok {
			return errors.New("the call of this session is not known any more")
		}
		c := made.(*call)
		if err := c.mayBecome(to, parent); err != nil {
			return err
		}
		if at := s.places.of(of); at != nil {
			if err := s.furnish(to, at, &spec); err != nil {
				return err
			}
		}
		if spec.Rules, err = spec.Rules.Append(c.restricted...); err != nil {
			return err
		}
		if of.Record().Background && to.Timeout == 0 {
			spec.TimeLimit = s.limits.BackgroundTime
		}
		c.in.apply(to, &spec)
		spec.TimeLimit = s.limits.within(spec.TimeLimit)
		spec.Checks = slices.Concat(spec.Checks, checksOf(c.in.Checks))
		if !c.in.plain() {
			in = &c.in
		}
	}
	spec.Terms = newTerms(spec.Rules, in)
	return of.GoOnAs(spec)
}

// mayBecome reports why the caller of a session could not have called an agent itself.
func (c *call) mayBecome(to *agentdefs.Definition, parent *session.Session) error {
	if to.Mode == agentdefs.Primary || !c.caller.mayCall(to) {
		return fmt.Errorf("the agent that has called you may not call the agent %q, so that you can't go on as it", to.Name)
	}
	if err := parent.Denied(permission.Value{Tool: toolName, Text: to.Name}); err != nil {
		return fmt.Errorf("you can't go on as the agent %q: %w", to.Name, err)
	}
	return nil
}
