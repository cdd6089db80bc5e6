// Package httpserver is the front door for programs on the same machine: task
// calls and sessions over HTTP, streams as server-sent events.
//
//	POST /v1/tasks                  a task call: {"description","prompt","agentType"}
//	POST /v1/tasks/{operation}      list, wait, result, stop: [control.Operations]
//	GET  /v1/agents                 the agents that task may call; with /{name} all of one
//	GET  /v1/sessions               the records of all sessions, the newest first
//	GET  /v1/sessions/{id}          a record and its messages
//	DELETE /v1/sessions/{id}        stops the session and its subagents
//	GET  /v1/sessions/{id}/events   its stream; Last-Event-ID or ?from=SEQ resumes
//	GET  /v1/approvals              the tool calls that wait for an answer
//	POST /v1/approvals              answers one of them
//	POST /v1/explain                what the rules make of a tool call
//	GET  /v1/openapi.yaml           all of this in full: package openapi
//	GET  /healthz, /readyz          whether the worker answers, and takes calls
//	/mcp                            the same tools for hosts that speak MCP
//
// It translates and decides nothing. Each task call runs in a root session of
// its own, named in the header Agent-Session of the answer, which is a
// [taskt.Document]. With "Accept: text/event-stream" the answer is the stream
// of that root session, as it happens, and the document as its last event.
//
// # Who may call
//
// Without TLS it listens on loopback addresses only. Each request carries a bearer token.
// The owner of the state folder's token may do everything; a named token has scopes. Other
// machines connect over TLS, where only named tokens count. A page in a browser could get
// around both. So a request with any token is refused if its Host is not a loopback name:
// the page's own name was made to point here. It is also refused if its Origin is another
// site: the page fetches from here.
//
// # Streams
//
// An event of a stream has the sequence number as its id and its type as its
// event name. A client that comes back with the last id misses nothing and sees
// nothing twice. A client whose stream is over gets status 204, which tells an
// EventSource to stop. Clients read from the store at their own pace: a slow one
// delays nobody, and one that reads nothing for half a minute is dropped.
package httpserver
