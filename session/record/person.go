package record

import (
	"fmt"
	"slices"
	"strings"
)

// Person is somebody who asks for a session's work, or answers its calls. The text tells
// one person from another; empty means that this is impossible.
type Person string

const (
	// Owner is whoever reaches the worker's own files. That is the user who runs it: in a
	// terminal, in an editor, through a host on stdin, or with the token of the state
	// folder.
	Owner Person = "owner"

	// Unknown is a caller whose identity is unknown, such as a client of NATS.
	Unknown Person = "unknown"

	// NoPerson is the model of a session. The people who asked for that session count
	// instead.
	NoPerson Person = "model"

	// TheRules are rules that now allow a call, after they asked about it.
	TheRules Person = "rules"
)

const tokenPrefix = "token:"

// TokenPerson returns the person with the named token.
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

// AddPerson adds a person to people, unless it is among them. The result shares nothing
// with people.
func AddPerson(people []Person, p Person) []Person {
	if p == NoPerson || slices.Contains(people, p) {
		return people
	}
	return append(slices.Clip(people), p)
}
