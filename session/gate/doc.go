// Package gate has the rules by which a session's tool calls are decided: the process's
// ([Policy]), the session's ([Rules]), and both at a moment ([Layers]). It runs no call.
package gate
