// Package gate has the rules by which the gate of a session decides on tool calls: those of a
// process ([Policy]), of a session ([Rules]), and both as they are now ([Layers]). It runs no call.
package gate
