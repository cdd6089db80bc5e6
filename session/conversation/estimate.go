package conversation

import "github.com/agentworker/worker/model"

// Counted is how many tokens the first messages of the conversation have, with the
// system prompt and the tools. 0 means it is not known.
type Counted struct {
	Messages int
	Tokens   int64
}

// Estimate returns about how many tokens the prompt of a call has, rather too many:
// what the provider has counted, and one for every two bytes besides.
func (c Counted) Estimate(req *model.Request) int64 {
	tokens, from := c.Tokens, c.Messages
	if tokens == 0 || from > len(req.Messages) {
		bytes := len(req.System)
		for _, t := range req.Tools {
			bytes += len(t.Name) + len(t.Description) + len(t.InputSchema)
		}
		tokens, from = int64(bytes/2+64), 0
	}
	for _, m := range req.Messages[from:] {
		bytes := len(m.Text)
		for _, r := range m.Reasoning {
			bytes += len(r.Text) + len(r.Signature) + len(r.Redacted)
		}
		for _, call := range m.ToolCalls {
			bytes += len(call.Name) + len(call.Arguments)
		}
		for _, r := range m.ToolResults {
			bytes += len(r.Text) + 32
		}
		tokens += int64(bytes/2 + 16)
	}
	return tokens
}
