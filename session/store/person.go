package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
)

// Person is somebody who can be told apart from others: who has asked for what a session
// does, or answers a call that waits. Empty means nobody who can.
type Person string

const (
	// Owner is whoever reaches the worker's own files: the user who runs it, in a terminal, an
	// editor, a host on stdin or with the token of the state folder.
	Owner Person = "owner"

	// Unknown is a caller of whom it is not known who it is, as a client of NATS.
	Unknown Person = "unknown"

	// NoPerson is the model of a session, for which those count who have asked for that.
	NoPerson Person = "model"

	// TheRules are those that allow a call by now which they had asked about.
	TheRules Person = "rules"
)

const tokenPrefix = "token:"

// TokenPerson is who has the named token.
func TokenPerson(name string) Person { return Person(tokenPrefix + name) }

// Named reports whether the person can be told apart from others.
func (p Person) Named() bool {
	return p == Owner || strings.HasPrefix(string(p), tokenPrefix) && len(p) > len(tokenPrefix)
}

// String names the person to people.
func (p Person) String() string {
	switch {
	case p == Owner:
		return "the user who runs the worker"
	case p.Named():
		return fmt.Sprintf("the token %q", strings.TrimPrefix(string(p), tokenPrefix))
	}
	return "somebody who is not known"
}

// SecondPerson says that a call has to be approved by somebody else than those who have
// asked for the work.
type SecondPerson struct {
	Rule    string   `json:"rule"`    // of the policy, with its place
	AskedBy []Person `json:"askedBy"` // who may not approve. Empty, or with one who is not known: nobody may
}

// Nobody reports whether nobody may approve the call: it is not known who has asked.
func (sp *SecondPerson) Nobody() bool {
	return len(sp.AskedBy) == 0 || slices.ContainsFunc(sp.AskedBy, func(p Person) bool { return !p.Named() })
}

// Admits returns a [*SecondPersonError] if a person may not approve the call. On nil everybody
// may.
func (sp *SecondPerson) Admits(p Person) error {
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
	if slices.Contains(sp.AskedBy, Owner) {
		who = "a named token of 'worker serve' with the scope \"approve\" can ('worker tokens add')"
	}
	if len(sp.AskedBy) > 1 || sp.AskedBy[0] != Owner {
		who = "another " + strings.TrimPrefix(who, "a ")
	}
	return fmt.Sprintf("A second person has to approve it: not %s, who has asked for the work; %s.", strings.Join(names, " or "), who)
}

// SecondPersonError tells that somebody may not approve a call, and who may.
type SecondPersonError struct {
	SecondPerson *SecondPerson
	Person       Person // who was refused
}

func (e *SecondPersonError) Error() string {
	return fmt.Sprintf("%s may not approve this call by the policy's rule %s. %s", e.Person, e.SecondPerson.Rule, e.SecondPerson.Text())
}

// askedData says who has asked for what the session does, besides those before.
type askedData struct {
	By Person `json:"by"`
}

// AskedEntry says that somebody has told the session what to do who is not among those who
// have done that before.
func AskedEntry(by Person) LogEntry { return LogEntry{askedKind, askedData{by}} }

// AddPerson adds a person to those who have asked for something, unless it is among them.
// The result shares nothing with people.
func AddPerson(people []Person, p Person) []Person {
	if p == NoPerson || slices.Contains(people, p) {
		return people
	}
	return append(slices.Clip(people), p)
}

// AskedBy returns who has asked for what the session at the end of a path does: who has
// begun it, or a session above it, and who has told these what to do since. Of records that
// do not say it, [Unknown]. known is a record that is newer than what is stored; nil means
// there is none.
func (s *Store) AskedBy(ctx context.Context, path event.Path, known func(id string) (Record, bool)) ([]Person, error) {
	var people []Person
	for i, hop := range path {
		r, ok := Record{}, false
		if known != nil {
			r, ok = known(hop.SessionID)
		}
		if !ok {
			stored, err := s.Get(ctx, hop.SessionID)
			if err != nil {
				return nil, fmt.Errorf("who has asked for session %s: %w", hop.SessionID, err)
			}
			r = *stored
		}
		if i == 0 && len(r.AskedBy) == 0 {
			people = AddPerson(people, Unknown)
		}
		for _, p := range r.AskedBy {
			people = AddPerson(people, p)
		}
	}
	return people, nil
}
