package record

import (
	"fmt"
	"slices"
	"strings"
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

// AddPerson adds a person to those who have asked for something, unless it is among them.
// The result shares nothing with people.
func AddPerson(people []Person, p Person) []Person {
	if p == NoPerson || slices.Contains(people, p) {
		return people
	}
	return append(slices.Clip(people), p)
}
