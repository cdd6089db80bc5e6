// Package natsservice is the front door for clients on NATS: a micro service
// named agentworker with these endpoints for a workspace WS.
//
//	agents.v1.WS.service.task        a task call: {"description","prompt","agentType"}
//	agents.v1.WS.service.task_…      an operation of [control.Operations]
//	agents.v1.WS.service.agents      the agents that task may call
//	agents.v1.WS.service.approvals   the tool calls that wait for an answer
//	agents.v1.WS.service.answer      an answer: {"approvalId","approve","feedback"}
//
// It translates and decides nothing. Each task call runs in a root session of
// its own, and the answer is a [taskt.Document]. All workers of a workspace are
// one queue group: each request goes to one of them. A task call goes on to
// another one where the first has no free slot, and waits where none has.
//
// # Following a call
//
// A call may name a subject in the header Agent-Session-Reply. Before its
// agent starts, the worker publishes there where the call's events stand:
//
//	{"rootSessionId":"ses_…","subject":"agents.v1.WS.events.ses_….>","stream":"AGENT_EVENTS"}
//
// A JetStream consumer on that subject reads all of the events, from the first one, also
// when it comes late. A plain subscription sees the events that are published from then on.
//
// # Errors
//
// A task that fails is an answer, of the type task_error. Where there was no
// task, the answer carries the headers of a service error, with HTTP's numbers
// as codes, and the body {"error":{"code","message"}}.
package natsservice
