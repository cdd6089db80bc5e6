// Package mcpserver is the front door for hosts that speak MCP, the Model
// Context Protocol: it offers them the tools "task" and "agents_list".
//
// It translates and decides nothing: a call is a call of [taskt.Service], its
// result text the <task_result> or <task_error> element, and what goes beside
// the text (session id, status, usage, duration) stands in the result's _meta.
//
// Each connection has one root session, which stands for the host. It opens
// with the first call, and ends with the connection. Calls run side by side;
// one that the host cancels cancels its child, and the end of the connection
// cancels all of them. A host that sent a progress token is told of each step
// and each tool call, and every few seconds that the child still works.
package mcpserver
