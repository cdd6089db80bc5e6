package openaimodel

import (
	"encoding/json"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// contents is what a message says. Its JSON is a string, or null, and a list of parts with
// images.
type contents struct {
	text   *string
	images []string // URLs
}

// part is a part of a message: https://platform.openai.com/docs/api-reference/chat/create
type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// MarshalJSON implements [json.Marshaler].
func (c contents) MarshalJSON() ([]byte, error) {
	if len(c.images) == 0 {
		return json.Marshal(c.text)
	}
	var parts []part
	if c.text != nil && *c.text != "" {
		parts = append(parts, part{Type: "text", Text: *c.text})
	}
	for _, url := range c.images {
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{url}})
	}
	return json.Marshal(parts)
}

// ofUser returns what a message of ours says behind the results of tools. The API takes only
// text in those, so their images are in it.
func ofUser(msg model.Message) contents {
	var names []string
	c := contents{text: &msg.Text}
	for _, r := range msg.ToolResults {
		for _, i := range r.Images {
			if len(i.Data) > 0 {
				names = append(names, i.String())
			}
		}
		c.images = append(c.images, openaiwire.DataURLs(r.Images)...)
	}
	if len(names) > 0 {
		text := strings.TrimSuffix("[The images of the tools' results above: "+strings.Join(names, "; ")+"]\n"+msg.Text, "\n")
		c.text = &text
	}
	c.images = append(c.images, openaiwire.DataURLs(msg.Images)...)
	return c
}
