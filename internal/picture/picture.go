// Package picture reads pictures of strangers and makes them png or jpeg of bounded size, as
// models take them. Other contents of the file are dropped, such as where a photo was taken.
//
// It reads png, jpeg, gif (the first frame) and webp. What decoding would cost is known from
// the header, and a picture that would cost too much is never decoded.
package picture

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // a format that is read
	"io"
	"net/http"
	"path"
	"strings"
	"sync"

	_ "golang.org/x/image/webp" // a format that is read
)

// The bounds of a picture that is read.
const (
	MaxBytes  = 32 << 20   // of the file
	MaxPixels = 50_000_000 // before it is made smaller
	maxMemory = 300 << 20  // that decoding needs, about
)

// MaxEdge is how many pixels the longer edge has at most of what a model gets. Up to that
// Anthropic's models see a picture unchanged (https://docs.anthropic.com/en/docs/vision,
// "Evaluate image size"); OpenAI's take more
// (https://developers.openai.com/api/docs/guides/images-vision).
const MaxEdge = 1568

// MaxCall is how many pictures the result of one call has at most.
const MaxCall = 20

// Picture is a picture as models take it.
type Picture struct {
	Name          string // for people and models, such as a file's; may be empty
	MediaType     string // image/png or image/jpeg
	Width, Height int    // in pixels
	Data          []byte

	From string // what it was before, such as "gif, 3000×2000"; empty means that it has not changed
}

// String says what the picture is: "a.png: a picture, image/png, 800×600 pixels (was gif,
// 3000×2000)".
func (p Picture) String() string {
	text := fmt.Sprintf("%s: a picture, %s, %d×%d pixels", cmp.Or(p.Name, "picture"), p.MediaType, p.Width, p.Height)
	if p.From != "" {
		text += " (was " + p.From + ")"
	}
	return text
}

// Is reports whether a file that begins with head is a picture of a format that [Read] reads.
func Is(head []byte) bool {
	switch http.DetectContentType(head) {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// Named reports whether a file of this name should be a picture of such a format.
func Named(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// decoding lets one picture be decoded at a time: that is what needs memory.
var decoding sync.Mutex

// Read makes a picture of the bytes of a file. Its errors begin with name.
func Read(name string, data []byte) (p Picture, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", cmp.Or(name, "picture"), err)
		}
	}()
	if len(data) > MaxBytes {
		return p, fmt.Errorf("the picture has %s, and at most %s are read: make it smaller", megabytes(len(data)), megabytes(MaxBytes))
	}
	if !Is(data) {
		return p, unknown(name, data)
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return p, fmt.Errorf("the picture is broken: %s", reason(err))
	}
	if cfg.Width <= 0 || cfg.Height <= 0 {
		return p, errors.New("the picture is broken: it has no pixels")
	}
	if pixels := int64(cfg.Width) * int64(cfg.Height); pixels > MaxPixels || pixels*perPixel(format, cfg, data) > maxMemory {
		most := min(MaxPixels, maxMemory/perPixel(format, cfg, data))
		return p, fmt.Errorf("the picture has %d×%d pixels, which is %.1f million, and at most %.1f million of this kind are decoded: make it smaller",
			cfg.Width, cfg.Height, float64(pixels)/1e6, float64(most)/1e6)
	}
	decoding.Lock()
	defer decoding.Unlock()
	return decode(name, data, cfg, format)
}

// decode reads a picture whose header is accepted.
func decode(name string, data []byte, cfg image.Config, format string) (Picture, error) {
	full, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return Picture{}, fmt.Errorf("the picture is broken: %s", reason(err))
	}
	small := turned(shrunk(full), orientation(format, data))
	p := Picture{Name: name, Width: small.Bounds().Dx(), Height: small.Bounds().Dy()}
	if format != "png" && format != "jpeg" || cfg.Width != p.Width || cfg.Height != p.Height {
		p.From = fmt.Sprintf("%s, %d×%d", format, cfg.Width, cfg.Height)
	}
	if p.Data, p.MediaType, err = encode(small, format); err != nil {
		return Picture{}, fmt.Errorf("writing the picture: %w", err)
	}
	return p, nil
}

// unknown says what a file is that is no picture.
func unknown(name string, data []byte) error {
	head := bytes.ToLower(data[:min(len(data), 1024)])
	switch {
	case len(data) == 0:
		return errors.New("the picture is empty")
	case bytes.Contains(head, []byte("<svg")):
		return errors.New("an svg is text: give it as text, or convert it to png")
	case bytes.HasPrefix(head, []byte("%pdf-")):
		return errors.New("a pdf is no picture: convert its pages to png (pdftoppm -png), or its text (pdftotext)")
	case Named(name):
		return fmt.Errorf("the picture is broken: it does not begin as a %s file does", strings.ToLower(path.Ext(name)))
	}
	return errors.New("it is no picture of a known format: png, jpeg, gif and webp are")
}

// reason returns what a decoder says, in one line.
func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "its end is missing"
	}
	return err.Error()
}

func megabytes(n int) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
