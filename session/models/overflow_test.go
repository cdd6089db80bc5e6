package models

import (
	"testing"

	"github.com/agentworker/worker/model"
)

func TestOverflows(t *testing.T) {
	for _, test := range []struct {
		said   string
		window int64
	}{
		{"prompt is too long: 214676 tokens > 200000 maximum", 200000},
		{"input length and `max_tokens` exceed context limit: 195123 + 8192 > 200000, decrease input length or `max_tokens` and try again", 200000},
		{"Input is too long for requested model.", 0},
		{"This model's maximum context length is 8192 tokens. However, your messages resulted in 13985 tokens.", 8192},
		{"Your input exceeds the context window of this model. Please adjust your input and try again.", 0},
		{"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 272116 tokens.", 272000},
		{"Please reduce the length of the messages or completion. Current length is 42000 while limit is 32768", 32768},
		{"The input token count (1234567) exceeds the maximum number of tokens allowed (1048576).", 1048576},
		{"Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)", 262144},
		{"Prompt exceeds max length", 0},
		{"Range of input length should be [1, 129024]", 129024},
		{"This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072},
		{"The decoder prompt (length 50000) is longer than the maximum model length of 40960.", 40960},
		{"prompt token count of 140000 exceeds the limit of 128000", 128000},
		{"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769", 32769},
		{"`inputs` must have less than 4096 tokens. Given: 5000", 4096},
		{"Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000},
		{"tokens in request more than max tokens allowed", 0},
		{"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096},
		{"prompt too long; exceeded max context length by 1234 tokens", 0},
		{"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens", 4096},
		{"Prompt contains 70000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32768},
		{"too many tokens: total number of tokens in the prompt cannot exceed 4081", 4081},
		{"invalid params, context window exceeds limit", 0},
		{"The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096},
		{"The prompt is too long: 140000, model maximum context length: 131071", 131071},
		{"Too many input tokens. Max input tokens: 8192, request input token count: 9000", 8192},
		{"Prompt length (5000) exceeds maximum input length (4096)", 4096},
		{"length of prompt_tokens (140000) must be less than max_seq_len (131072).", 131072},
		{"You passed 202753 input tokens and requested 0 output tokens. However, the model's context length is only 202752 tokens, resulting in a maximum input length of 202752 tokens.", 202752},
		{"request (53192 tokens) exceeds context size (50176 tokens)", 50176},
		{"This endpoint's maximum context length is 200000 tokens. However, you requested about 212776 tokens (210776 of text input, 2000 in the output).", 200000},
		{"the request exceeds the available context size. try increasing the context size or enable context shift", 0},
		{"Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1200000 instead.", 0},
	} {
		err := &model.Error{Kind: model.ErrInvalid, Status: 400, Message: test.said}
		if !Overflows(err) {
			t.Errorf("%q is not seen as too long", test.said)
		}
		if got := namedWindow(test.said); got != test.window {
			t.Errorf("%q names the window %d, want %d", test.said, got, test.window)
		}
	}
	for _, err := range []*model.Error{
		{Kind: model.ErrInvalid, Status: 413, Message: "no"},
		{Kind: model.ErrInvalid, Status: 400, Code: "context_length_exceeded"},
	} {
		if !Overflows(err) {
			t.Errorf("%+v is not seen as too long", err)
		}
	}
	for _, said := range []string{
		"max_tokens is too large: 100000. This model supports at most 16384 completion tokens", "temperature must be <= 2", "too many tools: 200", "unknown model",
		"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x",
		"max_tokens (9000) exceeds the maximum output length of 8192 tokens", "max_completion_tokens exceeds the limit of 16384 output tokens",
		"thinking.budget_tokens must be less than max_tokens", "context_management: Extra inputs are not permitted",
		"Unknown parameter: 'context_window'.", "context_length must be a positive integer", "Unsupported parameter: 'max_context_length'",
		"Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2000 instead.",
		"Invalid 'input[3].name': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
		"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
		"The request exceeds the maximum number of tools allowed (128)", "tools: the input schema is too large",
		"Too many tokens, please wait before trying again.", "input exceeds the limit of 100 requests per minute", "A maximum of 100 PDF pages may be provided.",
		"the file is too large for this model: 40 MB", "Your request exceeded your current quota", "messages: text content blocks must be non-empty",
		"tool_choice: input should be 'auto' or 'none'", "the prompt template of this model does not support system messages",
		"stop: too many stop sequences, maximum 4", "metadata.user_id: exceeds maximum length of 256",
	} {
		if Overflows(&model.Error{Kind: model.ErrInvalid, Status: 400, Message: said}) {
			t.Errorf("%q is seen as too long", said)
		}
	}
	if Overflows(&model.Error{Kind: model.ErrRateLimited, Status: 429, Message: "too many tokens a minute"}) {
		t.Error("a rate limit is seen as too long")
	}
}
