// Package replaymodel is a model that plays a script from a file: the same
// request always gets the same answer, without a network. It serves tests and
// demonstrations (worker task explore "…" --model replay/demo.jsonl).
//
// # Scripts
//
// A script is a list of turns, one for each answer: a JSON array of them, or
// one JSON object after another, as in a .jsonl file.
//
//	{"toolCalls": [{"name": "read_file", "arguments": {"path": "go.mod"}}]}
//	{"text": ["The module is ", "agentworker."]}
//
// What a turn may hold, and in this order the model streams it:
//
//	reasoning   text, or a list of texts: one piece of thinking each
//	signature   what goes with the reasoning when it is handed back
//	redacted    a block of reasoning that is encrypted
//	text        text, or a list of texts: one piece of the answer each
//	toolCalls   a list of {"id", "name", "arguments"}; arguments are an object,
//	            or a string that is taken as it is, valid JSON or not; the id
//	            is made up where there is none
//	usage       {"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}
//	stop        end, tool_calls, max_tokens or refusal; if absent tool_calls
//	            where there are any, else end
//
// How a turn may end otherwise, after what it holds:
//
//	error       {"kind", "status", "message", "retryAfterMs", "times"}: fail. kind is
//	            auth, invalid, rate_limited, unavailable or protocol, status an
//	            HTTP status; one of the two will do. With times, only the first
//	            attempts of a call fail, before anything is streamed. That is for
//	            an adapter to retry, so this model leaves it out
//	hang        true: stream nothing more until the call is cancelled
//	cut         true: the connection breaks
//
// And:
//
//	delayMs     the time before each piece, in milliseconds
//	repeat      true: this turn also answers all later requests of its group
//	match       what the request must be like, see below
//
// # Which turn answers
//
// A script keeps no position: only the request decides, so that parents and children
// can share one script at the same time. Turns with equal match conditions are a group,
// and the turns of a group follow each other. Match conditions are, all optional:
//
//	system      the system prompt contains this
//	user        a user message contains this; the last one that does counts
//	result      a tool result contains this; the last one that does counts
//	tool        a tool that is offered has this in its name, description or schema
//	noToolCalls true: the request asks for an answer without tool calls
//
// Of the groups that match, the one wins whose conditions hold latest in the
// conversation (user and result at their message, noToolCalls at the end, all
// else at the beginning), then the one with more conditions, then the one that
// comes first. Its first turn answers the first request from there on, its
// second turn the second, and so on. If it has no turn left, the call fails.
//
//	{"match": {"system": "You are explore"}, "text": "I am the child."}
//	{"toolCalls": [{"name": "task", "arguments": {"agentType": "explore"}}]}
//	{"text": "I am the parent, and the child has answered."}
package replaymodel
