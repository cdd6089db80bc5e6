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
	} {
		if Overflows(&model.Error{Kind: model.ErrInvalid, Status: 400, Message: said}) {
			t.Errorf("%q is seen as too long", said)
		}
	}
	if Overflows(&model.Error{Kind: model.ErrRateLimited, Status: 429, Message: "too many tokens a minute"}) {
		t.Error("a rate limit is seen as too long")
	}
}
