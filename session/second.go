package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/store"
)

// AskedFor notes that somebody tells the session what to do, from whom its model reads that
// later. It is on its way to the store when this returns.
func (s *Session) AskedFor(by store.Person) {
	if by == store.NoPerson || slices.Contains(s.Record().AskedBy, by) {
		return
	}
	s.append(store.AskedEntry(by))
	s.note(s.change(func(r *store.Record) error {
		r.AskedBy = store.AddPerson(r.AskedBy, by)
		return nil
	}))
}

// toldBy notes who has sent a message.
func (s *Session) toldBy(n notice) {
	if n.sent {
		s.AskedFor(n.by)
	}
}

// askedBy returns who has asked for what the session at the end of a path does. Where that
// can't be found out, [store.Unknown] is among them.
func (m *Manager) askedBy(ctx context.Context, path event.Path) []store.Person {
	if len(path) == 0 {
		return []store.Person{store.Unknown}
	}
	people, err := m.store.AskedBy(ctx, path, func(id string) (store.Record, bool) {
		s, ok := m.Live(id)
		if !ok {
			return store.Record{}, false
		}
		return s.Record(), true
	})
	if err != nil {
		m.log.Warn("it is not known who has asked for a session: no second person can approve its calls", "session", path[len(path)-1].SessionID, "err", err)
		return []store.Person{store.Unknown}
	}
	return people
}

// secondPerson says who may approve a call of these values, if the policy wants a second
// person to; nil means it does not.
func (s *Session) secondPerson(ctx context.Context, rules *gate.Layers, values []permission.Value) *store.SecondPerson {
	rule := rules.SecondPerson(values)
	if rule == nil {
		return nil
	}
	return &store.SecondPerson{Rule: fmt.Sprintf("%v (%s)", *rule, rule.Source), AskedBy: s.m.askedBy(ctx, s.path)}
}

// names are those of people, as records have them.
func names(people []store.Person) []string {
	all := make([]string, len(people))
	for i, p := range people {
		all[i] = string(p)
	}
	return all
}

// attended reports whether somebody sits at the worker, or may answer from elsewhere.
func (s *Session) attended() bool {
	return !s.m.unattended || gate.Sits(s.approver) || gate.Sits(s.m.approver)
}
