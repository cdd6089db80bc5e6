package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
)

// imageSource is where the bytes of an image of a Messages request are.
type imageSource struct {
	Type      string
	MediaType string `json:"media_type"`
	Data      []byte
}

// read returns the image of message i.
func (s imageSource) read(i int) (model.Image, *refusal) {
	if s.Type != "base64" || !strings.HasPrefix(http.DetectContentType(s.Data), "image/") {
		return model.Image{}, refuse(400, "messages.%d: an image has the source %q with %d bytes that are no image", i, s.Type, len(s.Data))
	}
	return model.Image{MediaType: s.MediaType, Data: s.Data}, nil
}

// dataURL returns the image that a data URL has.
func dataURL(url string) (model.Image, error) {
	head, encoded, ok := strings.Cut(url, ";base64,")
	mediaType, hasScheme := strings.CutPrefix(head, "data:")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || !hasScheme || err != nil || !strings.HasPrefix(http.DetectContentType(data), "image/") {
		return model.Image{}, fmt.Errorf("%.40q is no data URL of an image", url)
	}
	return model.Image{MediaType: mediaType, Data: data}, nil
}

// PNG is a picture of one pixel.
var PNG = mustDecode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")

func mustDecode(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// Imaged is a conversation with an image in the prompt, one in the result of a tool, and one
// without bytes, which is not sent.
func Imaged() *model.Request {
	image := func(name string, data []byte) model.Image {
		return model.Image{Name: name, MediaType: "image/png", Width: 1, Height: 1, Bytes: len(PNG), Data: data}
	}
	return &model.Request{
		Messages: []model.Message{
			{Role: model.User, Text: "look", Images: []model.Image{image("a.png", PNG), image("gone.png", nil)}},
			{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "call_1", Name: "read_file", Arguments: `{}`}, {ID: "call_2", Name: "read_file", Arguments: `{}`}}},
			{Role: model.User, ToolResults: []model.ToolResult{
				{ToolCallID: "call_1", Text: "b.png", Images: []model.Image{image("b.png", PNG)}}, {ToolCallID: "call_2", Text: "two"},
			}},
		},
		Tools: []model.ToolSpec{{Name: "read_file", InputSchema: []byte(`{"type":"object"}`)}},
	}
}

// Images holds an adapter to the form in which its API takes images: want is the JSON of the
// messages, with PNG for the bytes in base64.
func Images(t *testing.T, m func(*Server) model.Model, field, want string) {
	t.Helper()
	server := New(t, replaymodel.Script{{Text: replaymodel.Chunks{"seen"}, Repeat: true}}, nil)
	if _, err := Collect(m(server).Stream(t.Context(), Imaged())); err != nil {
		t.Fatalf("got %v, want the request accepted", err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(server.Received()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	if !SameJSON(t, body[field], []byte(strings.ReplaceAll(want, "PNG", base64.StdEncoding.EncodeToString(PNG)))) {
		t.Errorf("got  %s\nwant %s", body[field], want)
	}
	images := 0
	for _, msg := range server.Received()[0].Request.Messages {
		images += len(msg.Images)
		for _, r := range msg.ToolResults {
			images += len(r.Images)
		}
	}
	if images != 2 {
		t.Errorf("the server has read %d images, want 2", images)
	}
}
