// Package hooks runs people's hooks around the calls of agents. A hook is a command or a request.
// It learns what is about to happen, and may deny it, ask a person, or add to it. See
// docs/guide/hooks.md.
//
// A hook only narrows what rules let through: the gate takes its allow for the answer to
// a question, and for nothing else.
package hooks
