// Package problem has the errors of the HTTP door in the form of RFC 9457, "Problem
// Details for HTTP APIs".
package problem

import (
	"maps"
	"net/http"
	"slices"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// MediaType is the type of an answer that is a [Document].
const MediaType = "application/problem+json"

// typePrefix stands before a code in the type of a problem.
const typePrefix = "urn:agentworker:problem:"

// Document is an error as a client gets it. Error has the code and the message, as they
// are over NATS.
type Document struct {
	Type   string        `json:"type"`   // a URN that ends in the code
	Title  string        `json:"title"`  // the same for all errors of the code
	Status int           `json:"status"` // that of the answer
	Detail string        `json:"detail"` // what it is this time
	Hint   string        `json:"hint,omitempty"`
	Error  *caller.Error `json:"error"`
}

// Of returns the document of an error.
func Of(e *caller.Error) Document {
	k, ok := kinds[e.Code]
	if !ok {
		k.title = http.StatusText(e.Status)
	}
	return Document{Type: typePrefix + e.Code, Title: k.title, Status: e.Status, Detail: e.Message, Hint: k.hint, Error: e}
}

// Codes returns all codes, sorted.
func Codes() []string { return slices.Sorted(maps.Keys(kinds)) }

// RetryAfter returns the header Retry-After of an error, in seconds; 0 means that waiting does
// not help.
func RetryAfter(code string) int { return retryAfter[code] }

var retryAfter = map[string]int{"busy": 1, "full": 1, "not_ready": 5, "shutting_down": 5}

// kind is what all errors of a code have in common: a title, and a remedy unless their
// messages have one.
type kind struct{ title, hint string }

var kinds = map[string]kind{
	"answered":               {"The approval no longer waits", "Read it again: it says who has answered, and how."},
	"bad_request":            {"The request is not of the form that this address takes", "Compare it with /v1/openapi.yaml."},
	"busy":                   {"As many calls are open as this server takes", "Try again later."},
	"wrong_answer":           {"The answer does not fit what is asked", "Read the approval: a question has its options in ask, and a call is approved or denied."},
	"second_person":          {"The policy wants a second person to approve the call", "Have somebody approve it who has not asked for the work, with a named token of their own."},
	"concludes":              {"The session is giving its answer", "Wait for the answer, and send the message then: the session goes on with it."},
	"ended":                  {"The session has ended", "Read its result with POST /v1/tasks/result."},
	"forbidden_host":         {"The request was made for another host", "Use the address that the worker prints at its start."},
	"forbidden_origin":       {"The request may come from a page in a browser", "Send it from a program, without the headers Origin and Sec-Fetch-Site."},
	"forbidden_scope":        {"The token does not have the scope for this", "Use another token, or have one made with the scope: 'worker tokens add'."},
	"full":                   {"As many subagents run as may", "Try again later, or without background, which waits for a slot."},
	"incomplete":             {"The last events of the session are not stored any more", "Read what is left: no more will come."},
	"internal":               {"Something went wrong within the worker", "The worker's log says what."},
	"lost":                   {"The worker that has the call does not answer", "Look for the session in the list: it may run."},
	"method_not_allowed":     {"The address does not take this method", "The header Allow has those that it takes."},
	"not_done":               {"It cannot be done with this session", "The message says why. What was there is there still."},
	"not_found":              {"There is no such thing here", "Look at the list of which it is a part, or at /v1/openapi.yaml."},
	"not_moved":              {"The session cannot be moved to the background", "Only one whose caller waits for it can be."},
	"not_ready":              {"The worker can take no calls now", "Try again later."},
	"not_resumed":            {"The session cannot go on", "Begin a new one with POST /v1/tasks."},
	"not_sent":               {"The process of the session has not taken the message", "Try again, with the same idempotencyKey."},
	"not_stopped":            {"The session has not ended in time", "Look at it again: it may still end."},
	"running":                {"The session has not ended", "Wait for it with POST /v1/tasks/wait."},
	"shutting_down":          {"The worker is ending", "Try again when it has started again."},
	"too_large":              {"The body is too large", "Put the text into a file of the workspace, and name that."},
	"too_many_attempts":      {"Too many wrong tokens came from this address", "Wait as long as the header Retry-After says, in seconds. A right token counts at once."},
	"too_many_streams":       {"The token holds as many streams as it may", "Close one. The stream of a root session has all that is below it."},
	"unauthorized":           {"The token is missing or wrong", "Send the header 'Authorization: Bearer TOKEN'."},
	"unknown_agent":          {"There is no such agent", "GET /v1/agents has those that can be called."},
	"unsupported_media_type": {"The body is of another type than this address takes", "Send JSON, with the header 'Content-Type: application/json'."},
}
