// Package gate is what the gate of a session judges tool calls by: the tools that the
// session has ([ToolSet]), the rules that hold for it ([Policy], [Rules], [Layers]), and
// the answers of people ([Approver], [Question]). It runs no call.
package gate
