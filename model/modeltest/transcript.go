package modeltest

import (
	"embed"
	"fmt"
)

//go:embed testdata/*.sse
var transcripts embed.FS

// Transcript returns the answer in testdata/NAME.sse. The answers are written
// after ones that providers have sent, with their pings, comments, odd spaces
// and fields of no interest:
//
//	anthropic-tools      text, then two tool calls with split arguments
//	anthropic-thinking   thinking with its signature, a redacted block, text; much of the input cached
//	anthropic-overloaded an error event in the midst of a text
//	openai-tools         two tool calls with split arguments, interleaved; usage
//	openai-text          text; the usage comes last, without a choice
//	deepseek-tools       reasoning_content, then a tool call; comments that keep the connection alive
//	ollama-tools         a whole call in one chunk; finish reason "stop", no usage, no [DONE]
//	gemini-tools         two calls without index and id, each in a chunk
//	openrouter-error     reasoning, then an error object with a number for its code
//
// It panics for another name.
func Transcript(name string) []byte {
	data, err := transcripts.ReadFile("testdata/" + name + ".sse")
	if err != nil {
		panic(fmt.Sprintf("modeltest: no transcript %q: %v", name, err))
	}
	return data
}
