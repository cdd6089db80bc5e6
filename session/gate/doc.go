// Package gate has what the gate of a session needs to decide on tool calls. There are the
// session's tools ([ToolSet]), its rules ([Policy], [Rules], [Layers]) and the answers of
// people ([Approver], [Answers]). It runs no call.
package gate
