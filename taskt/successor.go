package taskt

import (
	"errors"
	"fmt"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/budget"
	"github.com/agentworker/worker/taskt/planexit"
	"github.com/agentworker/worker/tool"
)

// planExit returns the tool by which a session of def becomes the agent that its file names.
func (s *Service) planExit(def *agentdefs.Definition) tool.Tool {
	return planexit.Tool(def.PlanExit, func() (planexit.Next, error) {
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
			return s.become(of, to)
		}, nil
	})
}

// become makes a session go on as another agent. It may do no more than that agent could if it
// had been called in the same place.
func (s *Service) become(of *session.Session, to *agentdefs.Definition) error {
	at := s.places.Of(of.Path())
	spec, err := s.plans.session(to, len(of.Path())-1, at, func(spec *session.Spec) error { return asCalled(s, of, to, spec) })
	if err != nil {
		return err
	}
	return of.Become(spec)
}

// asCalled adds to the spec of the agent that a session becomes what the session's call says.
func asCalled(s *Service, of *session.Session, to *agentdefs.Definition, spec *session.Spec) (err error) {
	if to.Budget != nil {
		if meter, _ := of.Budget().(*budget.Meter); !meter.Holds(*to.Budget) {
			return fmt.Errorf("the budget of the agent %q was not yet set when this session began: begin another one", to.Name)
		}
	}
	spec.Parent = of.Parent()
	var in *Input
	if parent := of.Parent(); parent != nil {
		made, ok := s.planning.Load(of.ID())
		if !ok {
			return errors.New("the call of this session is not known any more")
		}
		c := made.(*child)
		if err := c.mayBecome(to, parent); err != nil {
			return err
		}
		if spec.Rules, err = spec.Rules.Append(c.place.Rules...); err != nil {
			return err
		}
		c.req.apply(to, of.Record().Background, s.limits, spec)
		in = &c.req.in
	}
	spec.Terms = newTerms(spec.Rules, in, s.plans.files)
	return nil
}

// mayBecome returns why the caller of a session could not have called an agent itself.
func (c *child) mayBecome(to *agentdefs.Definition, parent *session.Session) error {
	if to.Mode == agentdefs.Primary || !c.req.caller.MayCall(to) {
		return fmt.Errorf("the agent that has called you may not call the agent %q, so that you can't go on as it", to.Name)
	}
	if err := parent.Denied(permission.Value{Tool: toolcatalog.Task, Text: to.Name}); err != nil {
		return fmt.Errorf("you can't go on as the agent %q: %w", to.Name, err)
	}
	return nil
}
