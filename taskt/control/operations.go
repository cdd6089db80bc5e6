package control

import (
	"encoding/json"
	"slices"
)

// Operation is one thing that a caller can do with its subagents.
type Operation struct {
	Name        string // as tools are called: task_wait
	Title       string // for people
	Description string // for models
	InputSchema json.RawMessage
	ReadOnly    bool // changes nothing
	Once        bool // a call that is made again does something again
	Waits       bool // may take as long as a subagent does
	Hosts       bool // for hosts, programs and people: sessions' models are not offered it

	input  func() input
	answer func() Answer // an empty one
}

// Operations are all of them, in the order in which they are shown. Nobody
// changes them.
var Operations = []*Operation{
	{
		Name:  "task_list",
		Title: "List the subagents",
		Description: "Lists your subagents, the newest first: session id, agent, what it is to do, status, the tool that it runs now, " +
			"how long ago it did anything, steps, tokens, time.",
		InputSchema: object(`"running":{"type":"boolean","description":"true: only those that have not ended"},` +
			`"offset":{"type":"integer","minimum":0,"description":"how many to pass over; 0 without it"}`),
		ReadOnly: true,
		input:    func() input { return new(listInput) },
		answer:   func() Answer { return new(List) },
	},
	{
		Name:  "task_wait",
		Title: "Wait for subagents",
		Description: "Waits for subagents that run, and returns how they are and the results that are there. " +
			"Where the time is over before, it says which still run: do other work, and make the call again.",
		InputSchema: object(waitProperties),
		ReadOnly:    true,
		Waits:       true,
		input:       func() input { return new(WaitInput) },
		answer:      func() Answer { return new(Waited) },
	},
	{
		Name:  "task_result",
		Title: "Read a subagent's answer",
		Description: "Returns the answer of a subagent that has ended, or why it failed; of a long one the part from offset on. " +
			"With transcript: what it was told, did and said so far.",
		InputSchema: object(`"sessionId":{"type":"string","description":"the subagent's session id"},`+
			`"offset":{"type":"integer","minimum":0,"description":"how many characters of the text to pass over; 0 without it"},`+
			`"limit":{"type":"integer","minimum":1,"maximum":1000000,"description":"how many characters to return at most; 20000 without it"},`+
			`"transcript":{"type":"boolean","description":"true: the transcript in place of the answer"}`, "sessionId"),
		ReadOnly: true,
		input:    func() input { return new(readInput) },
		answer:   func() Answer { return new(Page) },
	},
	{
		Name:  "task_send",
		Title: "Send a subagent a message",
		Description: "Sends a subagent a message, which it reads before its next step: a correction, an answer, more to do; " +
			"or gives it another objective or role. With interrupt it reads it at once. One that has ended goes on with all that it has seen and done, in the background.",
		InputSchema: object(`"sessionId":{"type":"string","description":"the subagent's session id"},`+
			`"message":{"type":"string","minLength":1,"description":"what the subagent is to read; needed unless its assignment changes"},`+
			`"objective":{"type":"string","maxLength":16384,"description":"what it is to do from now on, in place of its task"},`+
			`"role":{"type":"string","maxLength":256,"description":"as what it is to work from now on, in a few words"},`+
			`"interrupt":{"type":"boolean","description":"true: what it is doing is interrupted, and messages that it has not read are dropped"},`+
			`"idempotencyKey":{"type":"string","maxLength":256,"description":"makes a call safe to repeat: of those with the same key the subagent gets one message"}`,
			"sessionId"),
		Once:   true,
		input:  func() input { return new(sendInput) },
		answer: func() Answer { return new(Sent) },
	},
	{
		Name:  "task_stop",
		Title: "Stop subagents",
		Description: "Stops subagents that run, with all that they have started. Use it where their work is not wanted any more. " +
			"It returns once they have ended, within seconds.",
		InputSchema: object(sessionProperties),
		input:       func() input { return new(stopInput) },
		answer:      func() Answer { return new(Stopped) },
	},
	{
		Name:  "task_background",
		Title: "Move a subagent to the background",
		Description: "Has the call of task return at once that waits for a subagent, which goes on in the background: " +
			"task_wait waits for it, and task_result has its answer then.",
		InputSchema: object(`"sessionId":{"type":"string","description":"the subagent's session id"},`+
			`"command":{"type":"boolean","description":"true: not the subagent but the command that it waits for goes on, in the subagent's background"}`, "sessionId"),
		Hosts:  true,
		input:  func() input { return new(backgroundInput) },
		answer: func() Answer { return new(Moved) },
	},
}

const (
	sessionProperties = `"sessionIds":{"type":"array","items":{"type":"string"},"description":"the session ids of several subagents"},` +
		`"sessionId":{"type":"string","description":"the session id of one; without both, all that run"}`

	waitProperties = sessionProperties + `,` +
		`"until":{"type":"string","enum":["all","any"],"description":"all (so without it): until all of them have ended; any: until one has"},` +
		`"timeoutSeconds":{"type":"number","minimum":0,"maximum":86400,"description":"how long to wait at most; 0: not at all; without it, as long as they run"}`
)

// object is the schema of an object without other properties than these.
func object(properties string, required ...string) json.RawMessage {
	schema := `{"type":"object","properties":{` + properties + `},`
	if len(required) > 0 {
		names, err := json.Marshal(required)
		if err != nil { // strings always have a JSON form
			panic(err)
		}
		schema += `"required":` + string(names) + `,`
	}
	return json.RawMessage(schema + `"additionalProperties":false}`)
}

// Find returns the operation of a name; nil means there is none.
func Find(name string) *Operation {
	i := slices.IndexFunc(Operations, func(op *Operation) bool { return op.Name == name })
	if i < 0 {
		return nil
	}
	return Operations[i]
}
