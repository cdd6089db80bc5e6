package exttask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ID is the extension's identifier, in the capabilities of clients and servers.
const ID = "io.modelcontextprotocol/tasks"

// The extension's methods.
const (
	Get    = "tasks/get"
	Update = "tasks/update"
	Cancel = "tasks/cancel"
	Notify = "notifications/tasks"
)

// Sessionless is the first version of the protocol that has the extension, and that has no
// sessions: each request names its client. Versions are compared as text.
const Sessionless = "2026-07-28"

// Status is how a task is doing. The last three are final.
type Status string

// The statuses.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed" // no result: not that of a result that is an error
	Cancelled     Status = "cancelled"
)

// Task is a task at a moment.
type Task struct {
	ID            string    `json:"taskId"`
	Status        Status    `json:"status"`
	StatusMessage string    `json:"statusMessage,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	LastUpdatedAt time.Time `json:"lastUpdatedAt"`

	// TTL is how long after its creation the task may be forgotten, in milliseconds; nil
	// means it is not known, or never.
	TTL *int64 `json:"ttlMs"`

	// PollInterval is how often a client should ask at most, in milliseconds.
	PollInterval int64 `json:"pollIntervalMs,omitempty"`

	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"` // of one that is [InputRequired]
	Result        json.RawMessage     `json:"result,omitempty"`        // of one that is [Completed]
	Error         *Error              `json:"error,omitempty"`         // of one that is [Failed]
}

// Final reports whether the task has ended.
func (t *Task) Final() bool { return t.Status != Working && t.Status != InputRequired }

// Error is why a request has no result.
type Error struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

// ResultOf is the result of a call as a task carries it: what the call would have been
// answered with.
func ResultOf(r *mcp.CallToolResult) (json.RawMessage, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding the result of a task: %w", err)
	}
	if bytes.HasPrefix(data, []byte(`{"`)) { // which the SDK sets for the results that it sends itself
		data = append([]byte(`{"resultType":"complete",`), data[1:]...)
	}
	return data, nil
}

// State is a task as an answer.
type State struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	Task
}

// NewCreated is the answer to a call that has become a task.
func NewCreated(t *Task) *State { return &State{ResultType: "task", Task: *t} }

// NewState is the answer to [Get].
func NewState(t *Task) *State { return &State{ResultType: "complete", Task: *t} }

// Ack answers [Update] and [Cancel].
type Ack struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// NewAck is the answer that says nothing more.
func NewAck() *Ack { return &Ack{ResultType: "complete"} }

// Params are those of [Get] and [Cancel].
type Params struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

// UpdateParams are those of [Update].
type UpdateParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"` // what is not asked may be anything
}

// Response reads the answer to a question.
func (p *UpdateParams) Response(key string) (mcp.InputResponse, error) {
	raw, err := json.Marshal(map[string]json.RawMessage{key: p.InputResponses[key]})
	var read mcp.InputResponseMap
	if err == nil {
		err = json.Unmarshal(raw, &read)
	}
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	return read[key], nil
}

// Declared reports whether the _meta of a request names the extension among its
// client's capabilities. What a client has said with another request does not count.
func Declared(meta map[string]any) bool {
	version, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	caps, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := caps["extensions"].(map[string]any)
	_, named := extensions[ID].(map[string]any)
	return version >= Sessionless && named
}

// ErrUndeclared is the error of a request that needs the extension, and whose client
// does not name it.
var ErrUndeclared = &jsonrpc.Error{
	Code:    mcp.CodeMissingRequiredClientCapabilities,
	Message: "the request's client capabilities do not name the extension " + ID,
	Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + ID + `":{}}}}`),
}

// NotFound is the error of an id that no task has.
func NotFound(id string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("there is no task %.100q: it was deleted, or never was", id)}
}
