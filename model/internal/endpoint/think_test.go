package endpoint_test

import (
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// TestThoughts: text and thoughts are the same wherever the text is cut into pieces.
func TestThoughts(t *testing.T) {
	for _, test := range []struct{ in, text, thought string }{
		{"so", "so", ""},
		{" \n", " \n", ""},
		{"\n so", "\n so", ""},
		{"<think>hm</think>so", "so", "hm"},
		{" \n<think>\nhm\n</think>\n\nso", "so", "\nhm\n"},
		{"<thinking>hm</thinking>\nso", "so", "hm"},
		{"<thought>hm</thought>so", "so", "hm"},
		{"[THINK]hm[/THINK]so", "so", "hm"},
		{"◁think▷hm◁/think▷so", "so", "hm"},
		{"<think></think>so", "so", ""},
		{"<think>a</think><think>b</think>so", "so", "ab"},
		{"<think>a</think>so\n<think>b</think>\nthen", "so\nthen", "ab"},
		{"<think>a <thinking> b</think>so", "so", "a <thinking> b"},
		{"<think>hm", "", "hm"},
		{"hm</think>so", "so", "hm"},
		{"</think>\n\nso", "so", ""},
		{"so <think>hm", "so <think>hm", "hm"},
		{"so <thin", "so <thin", ""},
		{"a < b [c] d", "a < b [c] d", ""},
		{"`<think>` so", "`<think>` so", ""},
		{"as `a<think>b</think>`", "as `a<think>b</think>`", ""},
		{"```\n<think>\n```\n</think", "```\n<think>\n```\n</think", ""},
		{"~~~xml\n</think>\n~~~", "~~~xml\n</think>\n~~~", ""},
	} {
		for size := 1; size <= len(test.in); size++ {
			var thoughts endpoint.Thoughts
			var text, thought string
			for rest := test.in; rest != ""; rest = rest[min(size, len(rest)):] {
				read(thoughts.Add(rest[:min(size, len(rest))]), &text, &thought)
			}
			read(thoughts.End(), &text, &thought)
			if text != test.text || thought != test.thought {
				t.Errorf("%q in pieces of %d: text %q, thought %q, want %q, %q", test.in, size, text, thought, test.text, test.thought)
			}
		}
	}
}

func read(parts []model.Part, text, thought *string) {
	for _, part := range parts {
		switch part := part.(type) {
		case model.TextDelta:
			*text += part.Text
		case model.ReasoningDelta:
			*thought += part.Text
		case model.TextWasReasoning:
			*thought, *text = *thought+*text, ""
		}
	}
}
