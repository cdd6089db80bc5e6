package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/model"
)

// The bounds of the images of one request. Anthropic's API takes 32 MB, which holds 24 MB in
// base64, and 100 images: https://docs.anthropic.com/en/docs/vision, "Basics and limits".
const (
	maxRequestImages = 20 << 20 // bytes
	maxImages        = 100
)

// Blind is why a model is not sent an image, for which nobody has said that it takes images.
const Blind = "not shown: this model is not known to take images"

// WithImages returns messages as a model is sent them: with the bytes of their images that load
// returns, the newest first, as far as a request has room. A line of text replaces each other
// image. If blind is not empty, that is all of them, and it says why. The messages stay as they
// are.
func WithImages(messages []model.Message, blind string, load func(model.Image) ([]byte, error)) []model.Message {
	if !slices.ContainsFunc(messages, hasImages) {
		return messages
	}
	l := &loader{blind: blind, load: load, room: maxRequestImages, left: maxImages}
	messages = slices.Clone(messages)
	for i := range slices.Backward(messages) {
		m := &messages[i]
		m.Images, m.Text = l.images(m.Images, m.Text)
		m.ToolResults = slices.Clone(m.ToolResults)
		for k := range slices.Backward(m.ToolResults) {
			r := &m.ToolResults[k]
			r.Images, r.Text = l.images(r.Images, r.Text)
		}
	}
	return messages
}

func hasImages(m model.Message) bool {
	return len(m.Images) > 0 || slices.ContainsFunc(m.ToolResults, func(r model.ToolResult) bool { return len(r.Images) > 0 })
}

// loader reads images until one request has no room for more.
type loader struct {
	blind      string
	load       func(model.Image) ([]byte, error)
	room, left int // bytes, and images
}

// images returns the images that are shown, and the text with a line for each other.
func (l *loader) images(all []model.Image, text string) (shown []model.Image, with string) {
	var lines []string
	for _, image := range slices.Backward(all) {
		if why := l.read(&image); why != "" {
			lines = append(lines, note(image, why))
			continue
		}
		shown = append(shown, image)
	}
	slices.Reverse(shown)
	slices.Reverse(lines)
	return shown, text + strings.Join(lines, "")
}

// read reads the bytes of an image, or returns why they are not sent.
func (l *loader) read(image *model.Image) (why string) {
	if l.blind != "" {
		return l.blind
	}
	if image.Bytes > l.room || l.left == 0 {
		l.room, l.left = 0, 0 // what is older is left out, too
		return "not shown any more: newer images take the room"
	}
	data, err := l.load(*image)
	if err != nil || len(data) == 0 || len(data) > l.room {
		return "not shown: its content is no longer stored"
	}
	image.Data = data
	l.room, l.left = l.room-len(data), l.left-1
	return ""
}

// note is the line that replaces an image.
func note(image model.Image, why string) string { return fmt.Sprintf("\n[Image %s: %s]", image, why) }

func notes(images []model.Image, why string) string {
	var b strings.Builder
	for _, image := range images {
		b.WriteString(note(image, why))
	}
	return b.String()
}

// imageBytes returns how long texts are that have as many tokens as images, as
// [Counted.Estimate] counts them.
func imageBytes(images []model.Image) (n int) {
	for _, image := range images {
		n += int(2 * image.Tokens())
	}
	return n
}
