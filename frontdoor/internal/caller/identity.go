package caller

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentworker/worker/session/record"
)

// Scope is what a caller needs for a request.
type Scope string

const (
	Anyone  Scope = "anyone"  // who has not said who they are, too
	Read    Scope = "read"    // sees all of the workspace's sessions, agents and approvals
	Run     Scope = "run"     // starts, changes and stops sessions
	Approve Scope = "approve" // answers the tool calls that wait
	Owner   Scope = "owner"   // what only the person may do who runs the worker
)

// Scopes are the ones that a named token may have.
var Scopes = []Scope{Read, Run, Approve}

// Identity is who makes a request. The zero Identity may do nothing.
type Identity struct {
	Name   string  // of the token; empty means the owner
	Scopes []Scope // [Owner] among them means all
}

// OwnerIdentity is the person who runs the worker.
var OwnerIdentity = Identity{Scopes: []Scope{Owner}}

// May reports whether an identity has a scope. The empty Scope is the owner's.
func (i Identity) May(scope Scope) bool {
	return scope == Anyone || slices.Contains(i.Scopes, Owner) || scope != "" && slices.Contains(i.Scopes, scope)
}

// Require is the error of a request for which an identity has not the scope; nil
// means it has.
func (i Identity) Require(scope Scope) error {
	switch {
	case i.May(scope):
		return nil
	case scope == Owner || scope == "":
		return &Error{Status: 403, Code: "forbidden_scope", Message: fmt.Sprintf("%s may not do this: it takes the token of the worker's state folder", i)}
	}
	return &Error{Status: 403, Code: "forbidden_scope", Message: fmt.Sprintf("%s does not have the scope %q", i, scope)}
}

// String names an identity to people.
func (i Identity) String() string {
	if i.Name == "" {
		return "this caller"
	}
	return fmt.Sprintf("the token %q", i.Name)
}

// Person is who the identity is.
func (i Identity) Person() record.Person {
	switch {
	case i.May(Owner):
		return record.Owner
	case i.Name == "":
		return record.Unknown
	}
	return record.TokenPerson(i.Name)
}

// By says to people who has done something through a door, which is named for the owner:
// "an HTTP client".
func (i Identity) By(door string) string {
	if i.Name == "" {
		return door
	}
	return fmt.Sprintf("%s with the token %q", door, i.Name)
}

// identityKey is the key of an [Identity] in a context.
type identityKey struct{}

// WithIdentity returns a context of a request of an identity.
func WithIdentity(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityOf returns who makes the request of a context; the zero Identity where nobody
// has said so.
func IdentityOf(ctx context.Context) Identity {
	i, _ := ctx.Value(identityKey{}).(Identity)
	return i
}
