package taskt

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
)

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
