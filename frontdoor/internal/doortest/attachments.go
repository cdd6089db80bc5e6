package doortest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"testing"

	"github.com/agentworker/worker/model"
)

// Attachment is a picture that a door is given, and what has to be said of it: by the model, which
// is shown it, or in an error.
type Attachment struct {
	Name, MediaType string
	Data            []byte
	Says            string
	Refused         bool
}

// URL is the data URL of the attachment.
func (a Attachment) URL() string {
	return "data:" + a.MediaType + ";name=" + a.Name + ";base64," + base64.StdEncoding.EncodeToString(a.Data)
}

// Attachments are a picture, and what is none, is broken, or would fill the memory.
func Attachments(t testing.TB) []Attachment {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 60, 30))); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	bomb := bytes.Clone(good) // its header says 60,000×60,000
	binary.BigEndian.PutUint32(bomb[16:], 60_000)
	binary.BigEndian.PutUint32(bomb[20:], 60_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	return []Attachment{
		{"good.png", "image/png", good, "good.png, image/png, 60×30", false},
		{"liar.png", "text/html", good, "liar.png, image/png, 60×30", false},
		{"broken.png", "image/png", good[:len(good)-20], "broken.png: the picture is broken: ", true},
		{"logo.png", "image/png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "an svg is text", true},
		{"bomb.png", "image/png", bomb, "60000×60000 pixels, which is 3600.0 million", true},
	}
}

// Looking is a model that says what it was told, and which images it was shown.
func Looking(_ context.Context, req *model.Request, yield func(model.Part) bool) error {
	last := req.Messages[len(req.Messages)-1]
	text := last.Text
	for _, i := range last.Images {
		text += fmt.Sprintf(" [seen %s with %d of %d bytes]", i, len(i.Data), i.Bytes)
	}
	_ = yield(model.TextDelta{Text: text}) && yield(model.Stop{Reason: model.StopEnd})
	return nil
}
