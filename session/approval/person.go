package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/record"
)

// SecondPerson says that somebody must approve a call who has not asked for the work.
type SecondPerson struct {
	Rule    string          `json:"rule"`    // of the policy, with its place
	AskedBy []record.Person `json:"askedBy"` // they may not approve. Empty, or with somebody unknown: nobody may
}

// Nobody reports whether nobody may approve the call, because it is unknown who asked.
func (sp *SecondPerson) Nobody() bool {
	return len(sp.AskedBy) == 0 || slices.ContainsFunc(sp.AskedBy, func(p record.Person) bool { return !p.Named() })
}

// Admits returns a [*SecondPersonError] if a person may not approve the call. If sp is nil,
// everybody may.
func (sp *SecondPerson) Admits(p record.Person) error {
	if sp == nil || p.Named() && !sp.Nobody() && !slices.Contains(sp.AskedBy, p) {
		return nil
	}
	return &SecondPersonError{sp, p}
}

// Text says who may approve the call.
func (sp *SecondPerson) Text() string {
	if sp.Nobody() {
		return "A second person has to approve it, and it is not known who has asked for the work, so that nobody can."
	}
	var names []string
	for _, p := range sp.AskedBy {
		names = append(names, p.String())
	}
	who := "a named token with the scope \"approve\", or the user who runs the worker, can"
	if slices.Contains(sp.AskedBy, record.Owner) {
		who = "a named token of 'worker serve' with the scope \"approve\" can ('worker tokens add')"
	}
	if len(sp.AskedBy) > 1 || sp.AskedBy[0] != record.Owner {
		who = "another " + strings.TrimPrefix(who, "a ")
	}
	return fmt.Sprintf("A second person has to approve it: not %s, who has asked for the work; %s.", strings.Join(names, " or "), who)
}

// SecondPersonError says that somebody may not approve a call, and who may.
type SecondPersonError struct {
	SecondPerson *SecondPerson
	Person       record.Person // the one who was refused
}

func (e *SecondPersonError) Error() string {
	return fmt.Sprintf("%s may not approve this call by the policy's rule %s. %s", e.Person, e.SecondPerson.Rule, e.SecondPerson.Text())
}

// AskedBy returns everybody who has asked for the work of the session at the end of path.
// They have begun the session or one above it, or given one of them further orders. If the
// root's record names nobody, they include [record.Unknown]. known returns a newer record
// than the stored one, if there is one; nil means there is none.
func (b *Bucket) AskedBy(ctx context.Context, path event.Path, known func(id string) (record.Record, bool)) ([]record.Person, error) {
	var people []record.Person
	for i, hop := range path {
		r, ok := record.Record{}, false
		if known != nil {
			r, ok = known(hop.SessionID)
		}
		if !ok {
			stored, err := b.index.Get(ctx, hop.SessionID)
			if err != nil {
				return nil, fmt.Errorf("looking up the requesters of session %s: %w", hop.SessionID, err)
			}
			r = *stored
		}
		if i == 0 && len(r.AskedBy) == 0 {
			people = record.AddPerson(people, record.Unknown)
		}
		for _, p := range r.AskedBy {
			people = record.AddPerson(people, p)
		}
	}
	return people, nil
}
