package taskt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/offer"
)

// request is one call of task: its input, its caller, and its agent in one snapshot. It is
// immutable.
type request struct {
	caller offer.Caller
	in     input.Input
	offer.Target
}

func newRequest(offers *offer.Set, by offer.Caller, in input.Input) *request {
	return &request{caller: by, in: in, Target: offers.Target(by, in.AgentType)}
}

// at returns the same request in another snapshot. It must still mean the agent on which was
// decided.
func (r *request) at(offers *offer.Set) (*request, error) {
	if offers == r.Set {
		return r, nil
	}
	now := newRequest(offers, r.caller, r.in)
	if now.Agent != r.Agent {
		return nil, fmt.Errorf("the agents have changed meanwhile, and %q is now the agent %q: call again if that is the one you mean", r.in.AgentType, now.Agent)
	}
	return now, nil
}

// values are what rules decide on: the name of the agent, so that a rule about it holds for
// its aliases too. The same in small letters can only deny, so that a rule in any case does.
func (r *request) values() []permission.Value {
	return []permission.Value{
		{Tool: toolcatalog.Task, Text: r.Agent},
		{Tool: toolcatalog.Task, Text: strings.ToLower(r.Agent), Kind: permission.Folded},
	}
}

// background reports whether the call returns before its subagent has ended.
func (r *request) background() bool {
	if r.in.Background != nil {
		return *r.in.Background
	}
	return r.in.Detached || r.Def != nil && (r.Def.Background || r.Def.Detached)
}

// detached reports whether the subagent runs on when its caller ends.
func (r *request) detached() bool {
	return r.background() && (r.in.Detached || r.Def != nil && r.Def.Detached)
}

// cleanup reports whether the session is deleted once its result was delivered.
func (r *request) cleanup() bool { return r.in.Cleanup == input.Delete }

// apply sets in the spec of a session of def what the call says of it.
func (r *request) apply(def *agentdefs.Definition, background bool, limits Limits, spec *session.Spec) {
	in := &r.in
	if background && def.Timeout == 0 {
		spec.TimeLimit = limits.BackgroundTime
	}
	if in.TimeoutSeconds > 0 {
		spec.WholeTime = true
		limit := time.Duration(in.TimeoutSeconds) * time.Second
		if def.Timeout == 0 || limit < def.Timeout {
			spec.TimeLimit = limit
		}
	}
	spec.TimeLimit = limits.within(spec.TimeLimit)
	if in.Model != "" {
		spec.Models = append(session.SplitModels(string(in.Model)), spec.Models...)
	}
	if in.Effort != "" {
		found, warnings := effort(in.Effort)
		if found != "" {
			spec.Params.Effort, spec.Warnings = found, nil
		}
		spec.Warnings = append(warnings, spec.Warnings...)
	}
	spec.Label, spec.Traceparent = in.Label, in.Traceparent
	if string(in.Metadata) != "null" {
		spec.Metadata = in.Metadata
	}
	spec.Checks = slices.Concat(spec.Checks, checksOf(in.Checks))
}
