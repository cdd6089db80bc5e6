package taskt

import (
	"context"
	"iter"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/offer"
)

// Offer returns what hosts are offered now.
func (s *Service) Offer() *Offer {
	set := s.offers.Current()
	if o := s.hosts.Load(); o != nil && o.snapshot == set.Snapshot {
		return o
	}
	o := &Offer{Version: set.Snapshot.Version, ReadOnly: true, snapshot: set.Snapshot, offer: set.Of(offer.Host)}
	for _, d := range o.offer.Agents {
		o.Agents = append(o.Agents, Agent{Name: d.Name, Aliases: d.Aliases, Description: d.Description})
		if s.plans.readOnly(d) {
			o.ReadOnlyAgents = append(o.ReadOnlyAgents, d.Name)
		}
	}
	for _, d := range set.Agents {
		if offer.Host.MayCall(d) && !s.plans.readOnly(d) {
			o.ReadOnly = false
		}
	}
	s.hosts.Store(o)
	return o
}

// OfferChanges yields what hosts are offered each time that they see something else in it. The
// first comparison is with the time of the call. It ends with ctx.
func (s *Service) OfferChanges(ctx context.Context) iter.Seq[*Offer] {
	last := s.Offer()
	return func(yield func(*Offer) bool) {
		for range s.agents.Changes(ctx) {
			now := s.Offer()
			if now.sameAs(last) {
				continue
			}
			if last = now; !yield(now) {
				return
			}
		}
	}
}

// Find returns the agent that a host means by a name, in any case, or an alias. The error is
// an [*offer.UnknownAgentError].
func (s *Service) Find(name string) (*agentdefs.Definition, error) {
	t := s.offers.Current().Target(offer.Host, name)
	return t.Def, t.Err
}

// ReadInput reads a call as a front door gets it: one JSON object and nothing else, for an
// agent that a host may call now. Without such an agent the error is an
// [*offer.UnknownAgentError].
func (s *Service) ReadInput(data []byte) (Input, error) {
	in, err := input.Parse(data)
	if err != nil {
		return Input{}, err
	}
	_, err = s.Find(in.AgentType)
	return in, err
}

// OpenCaller opens the root session of a caller that makes its own calls, such as a command
// line. The caller has decided on its calls, so that "ask" counts as answered; a deny
// holds. by is the person who asks for the calls.
func (s *Service) OpenCaller(ctx context.Context, description string, by record.Person) (*session.Session, error) {
	return s.openCaller(ctx, session.Spec{Description: description, AskedBy: by})
}

// OpenCallerOn is [Service.OpenCaller] for a caller that makes call after call, as a connected
// host does ([session.Spec.Lasting]). Children that name no model run on model, if it is not
// nil.
func (s *Service) OpenCallerOn(ctx context.Context, description string, by record.Person, model model.Model) (*session.Session, error) {
	return s.openCaller(ctx, session.Spec{Description: description, AskedBy: by, CallerModel: model, Lasting: true})
}

func (s *Service) openCaller(ctx context.Context, spec session.Spec) (*session.Session, error) {
	var err error
	if spec.ToolSet, err = s.forHosts(); err != nil {
		return nil, err
	}
	spec.Approver = approval.AlwaysYes
	return s.sessions.Open(ctx, spec)
}

// BudgetLevel returns how much of its own budget a session that runs in this process has used.
// false means it has none, or runs elsewhere.
func (s *Service) BudgetLevel(id string) (event.Budget, bool) {
	live, ok := s.sessions.Live(id)
	if !ok {
		return event.Budget{}, false
	}
	return levelOf(live)
}
