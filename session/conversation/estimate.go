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
	for i, m := range req.Messages[from:] {
		bytes := Bytes(req.Messages[from+i:from+i+1]) + 32*len(m.ToolResults)
		tokens += int64(bytes/2 + 16)
	}
	return tokens
}
