package conversation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
)

// TestWithImages: the newest images are sent as far as there is room; a line stands for each
// other, and the conversation stays as it is.
func TestWithImages(t *testing.T) {
	image := func(name string, mb int) model.Image {
		return model.Image{Name: name, MediaType: "image/png", Width: 750, Height: 2, Bytes: mb << 20, SHA256: name}
	}
	loaded := ""
	load := func(i model.Image) ([]byte, error) {
		loaded += i.Name + " "
		if i.Name == "gone" {
			return nil, errors.New("no")
		}
		return make([]byte, i.Bytes), nil
	}
	messages := []model.Message{
		{Role: model.User, Text: "task", Images: []model.Image{image("oldest", 1)}},
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1"}, {ID: "2"}}},
		{Role: model.User, ToolResults: []model.ToolResult{
			{ToolCallID: "1", Text: "one", Images: []model.Image{image("large", 15), image("gone", 1)}},
			{ToolCallID: "2", Text: "two", Images: []model.Image{image("last", 9)}},
		}},
	}
	before := fmt.Sprint(messages)
	sent := WithImages(messages, "", load)
	if fmt.Sprint(messages) != before {
		t.Error("the conversation has changed")
	}
	results := sent[2].ToolResults
	if loaded != "last gone " || len(results[1].Images) != 1 || len(results[1].Images[0].Data) != 9<<20 || results[1].Text != "two" {
		t.Errorf("loaded %s, second result %q with %d images", loaded, results[1].Text, len(results[1].Images))
	}
	if want := "one\n[Image large, image/png, 750×2, 15360.0 KB: not shown any more: newer images take the room]\n" +
		"[Image gone, image/png, 750×2, 1024.0 KB: not shown: its content is no longer stored]"; len(results[0].Images) > 0 || results[0].Text != want {
		t.Errorf("%q\nwant %q", results[0].Text, want)
	}
	if len(sent[0].Images) > 0 || !strings.Contains(sent[0].Text, "newer images take the room") {
		t.Errorf("%q", sent[0].Text)
	}

	loaded = ""
	sent = WithImages(messages, Blind, load)
	if loaded != "" || len(sent[0].Images) > 0 || sent[0].Text != "task\n[Image oldest, image/png, 750×2, 1024.0 KB: not shown: this model is not known to take images]" {
		t.Errorf("loaded %s, %q", loaded, sent[0].Text)
	}
	if plain := (Counted{}).Estimate(&model.Request{Messages: []model.Message{{Text: "task"}}}); (Counted{}).Estimate(&model.Request{Messages: messages[:1]}) != plain+2 {
		t.Error("an image of 1,500 pixels does not count as two tokens")
	}
}
