package taskt

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/workdir"
)

// DefaultPrimary is the name of the primary agent where none is named. Without a file of that name
// the agent is the host's own, and not in a snapshot.
const DefaultPrimary = "primary"

// Primary is an agent that talks to a person, as hosts may offer it to one.
type Primary struct {
	Name        string
	Description string
	Prompt      string // its instructions; may be empty
}

// Primaries returns the agents of now whose mode is primary or all, in the
// order of their names, without hidden ones.
func (s *Service) Primaries() []Primary {
	var primaries []Primary
	for _, d := range s.agents.Snapshot().Agents() {
		if d.Mode != agentdefs.Subagent && !d.Hidden {
			primaries = append(primaries, Primary{d.Name, strings.TrimSpace(d.Description), d.Prompt})
		}
	}
	return primaries
}

// PrimaryChanges yields each time that the result of [Service.Primaries]
// changes. The first comparison is with the time of the call. It ends with ctx.
func (s *Service) PrimaryChanges(ctx context.Context) iter.Seq[struct{}] {
	offered := s.Primaries()
	return func(yield func(struct{}) bool) {
		last := offered
		for range s.agents.Changes(ctx) {
			now := s.Primaries()
			if slices.Equal(now, last) {
				continue
			}
			if last = now; !yield(struct{}{}) {
				return
			}
		}
	}
}

// Conversation says how the session of a primary agent is opened. The zero value: for
// one prompt.
type Conversation struct {
	ID          string         // as in [session.Spec]; ignored with Resumes
	Description string         // the task in a few words
	Model       string         // empty means the agent's
	AskedBy     record.Person  // as in [session.Spec]
	Lasting     bool           // as in [session.Spec]
	Resumes     *record.Record // of a session to resume, which has ended; nil means none

	// Servers are MCP servers that the person brings, for the session and all below it.
	Servers []*mcpconfig.Server
}

// OpenPrimary opens the root session of a primary agent, which may call task.
func (s *Service) OpenPrimary(ctx context.Context, def *agentdefs.Definition, description string) (*session.Session, error) {
	return s.OpenConversation(ctx, def, Conversation{Description: description})
}

// OpenConversation is [Service.OpenPrimary] for a session that may be prompted again and
// again. One that resumes another is held to the rules of that as well;
// [record.ErrResumed] is returned where somebody else has resumed it.
func (s *Service) OpenConversation(ctx context.Context, def *agentdefs.Definition, c Conversation) (*session.Session, error) {
	if def.Worktree {
		return nil, fmt.Errorf("the agent %q works in a worktree of its own (isolation: worktree), which a run of 'worker task %s' makes", def.Name, def.Name)
	}
	at := bring(s, c.Servers)
	spec, err := s.plans.session(def, 0, at, func(spec *session.Spec) error {
		spec.ID = c.ID
		if c.Resumes != nil {
			if err := resumeRoot(ctx, s.sessions.Store(), spec, c.Resumes); err != nil {
				return err
			}
		}
		spec.ID = cmp.Or(spec.ID, record.NewID("ses"))
		spec.Warnings = append(slices.Clip(spec.Warnings), s.plans.lacking(ctx, def, spec.ToolSet, at)...)
		if c.Model != "" {
			spec.Models = append([]string{c.Model}, spec.Models...)
		}
		spec.Description, spec.Lasting, spec.AskedBy = c.Description, c.Lasting, c.AskedBy
		spec.Budget = s.budgets.meter(def, nil, Budget{}, nil)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if at != nil {
		s.places.Add(spec.ID, at)
	}
	opened, err := s.sessions.Open(ctx, spec)
	if err != nil {
		Leave(s, spec.ID)
	}
	return opened, err
}

// bring returns the workspace as a dir with MCP servers besides its own, for a session and all
// below it until [Leave]. nil means there are none.
func bring(s *Service, servers []*mcpconfig.Server) *workdir.Dir {
	if len(servers) == 0 {
		return nil
	}
	at := s.plans.home()
	at.Own = servers
	return at
}

// Leave forgets what was brought for a session that has ended.
func Leave(s *Service, sessionID string) { s.places.Remove(sessionID) }

// Entitle begins to give the session of a primary agent a title, if the agent title has a model
// of its own (alias small). wait returns when that is done. The caller ends the session after
// it.
func (s *Service) Entitle(ctx context.Context, root *session.Session, prompt string) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := root.Entitle(ctx, helper(s.agents.Snapshot().Special(agentdefs.Title)), prompt); err != nil && ctx.Err() == nil {
			s.log.Warn("a session gets no title", "session", root.ID(), "err", err)
		}
	}()
	return func() { <-done }
}

// Summarise returns a summary of a session by the agent summary. Nothing of it is stored.
func (s *Service) Summarise(ctx context.Context, sessionID string) (*session.Summary, error) {
	return s.sessions.Summarise(ctx, helper(s.agents.Snapshot().Special(agentdefs.Summary)), sessionID)
}
