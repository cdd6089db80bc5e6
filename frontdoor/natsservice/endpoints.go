package natsservice

import (
	"encoding/json"

	"github.com/nats-io/nats.go/micro"

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/upkeep"
)

// The keys of an endpoint's metadata.
const (
	descriptionKey = "description"
	requestKey     = "request_schema"  // JSON Schema of the body of a request
	responseKey    = "response_schema" // JSON Schema of the body of an answer that is no error
)

// answerSchema is the JSON Schema of a [caller.Answer].
const answerSchema = `{"type":"object","properties":{"approvalId":{"type":"string","minLength":1},"approve":{"type":"boolean"},` +
	`"answers":{"type":"array","items":{"type":"string"},"minItems":1,"description":"to a question of an agent, instead of approve: the chosen options, or one text"},` +
	`"feedback":{"type":"string","description":"of a denial, for the model"}},"required":["approvalId"],"additionalProperties":false}`

// sessionSchema is the JSON Schema of a request about one session.
const sessionSchema = `{"type":"object","properties":{"sessionId":{"type":"string","minLength":1}},"required":["sessionId"],"additionalProperties":false}`

// endpoint is what one subject of the service answers.
type endpoint struct {
	name, description string
	request, response json.RawMessage // JSON Schemas
	handler           micro.HandlerFunc
}

// endpoints are all of the service. The schemas of the task family are those of the table
// that models and other doors have, and of the types that are encoded.
func (s *Service) endpoints() []endpoint {
	all := []endpoint{{
		"task", "Gives a task to an agent. In the background it is accepted at once, and the answer is read with task_wait or from the events.",
		input.CallSchema(), control.SchemaOf[taskt.Document](), s.task,
	}}
	for _, op := range control.Operations {
		all = append(all, endpoint{
			op.Name, op.Title, op.InputSchema, op.OutputSchema(), func(from micro.Request) { s.control(op, from) },
		})
	}
	if s.opts.Upkeep != nil {
		for _, op := range upkeep.Operations {
			all = append(all, endpoint{
				"session_" + op.Name, op.Title, json.RawMessage(sessionSchema), op.Answer, func(from micro.Request) { s.keep(op, from) },
			})
		}
	}
	nothing := json.RawMessage(`{"type":"object"}`)
	return append(all,
		endpoint{"agents", "Lists the agents that task may call", nothing, control.SchemaOf[offered](), s.agents},
		endpoint{"approvals", "Lists the tool calls and questions that wait for an answer, the oldest first", nothing, control.SchemaOf[caller.PendingApprovals](), s.approvals},
		endpoint{"answer", "Answers a tool call, or a question, that waits", json.RawMessage(answerSchema), control.SchemaOf[approval.Approval](), s.resolve},
	)
}

// metadata is what the service says of the endpoint to who asks for its information.
func (e *endpoint) metadata() map[string]string {
	return map[string]string{descriptionKey: e.description, requestKey: string(e.request), responseKey: string(e.response)}
}
