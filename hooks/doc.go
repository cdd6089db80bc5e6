// Package hooks runs the hooks of people around the calls of agents: commands and requests that
// are told what is about to happen, and may deny it, ask, or add to it. See
// docs/guide/hooks.md.
//
// A hook only narrows what rules let through: the gate takes its allow for the answer to
// a question, and for nothing else.
package hooks
