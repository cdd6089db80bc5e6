package model

import "fmt"

// Image is a picture of a message, or of the result of a tool call. Its JSON says where the
// bytes are stored, and has none.
type Image struct {
	Name      string `json:"name,omitempty"` // for people and models, such as a file's
	MediaType string `json:"mediaType"`      // image/png or image/jpeg
	Width     int    `json:"width"`          // in pixels
	Height    int    `json:"height"`
	Bytes     int    `json:"bytes"`     // how many it has
	SHA256    string `json:"sha256"`    // of the bytes, in hex
	SessionID string `json:"sessionId"` // of the session that has stored them

	// Data is the bytes, in requests. An adapter sends images that have it, and no others.
	Data []byte `json:"-"`
}

// pixelsPerToken is what Anthropic counts:
// https://docs.anthropic.com/en/docs/vision, "Calculate image costs". Others count less.
const pixelsPerToken = 750

// Tokens returns about how many tokens a model counts for the image.
func (i Image) Tokens() int64 {
	return (int64(max(0, i.Width))*int64(max(0, i.Height)) + pixelsPerToken - 1) / pixelsPerToken
}

// String describes the image to people and models: "a.png, image/png, 800×600, 12.3 KB".
func (i Image) String() string {
	name := i.Name
	if name == "" {
		name = "image"
	}
	return fmt.Sprintf("%s, %s, %d×%d, %.1f KB", name, i.MediaType, i.Width, i.Height, float64(i.Bytes)/1024)
}
