package tool_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
)

// TestReadFilePicture: a picture is returned as one, resized, and what is none says why.
func TestReadFilePicture(t *testing.T) {
	var wide bytes.Buffer
	if err := png.Encode(&wide, image.NewRGBA(image.Rect(0, 0, 2000, 100))); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, nil, map[string]string{
		"wide.png":   wide.String(),
		"nameless":   wide.String(),
		"broken.png": wide.String()[:60],
		"none.png":   "ab\x00cd",
		"text.png":   "a\n",
		"logo.svg":   "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
	})
	for _, name := range []string{"wide.png", "nameless"} {
		r := p.call("read_file", args{"path": name})
		if r.IsError || len(r.Pictures) != 1 || r.Text != name+": a picture, image/png, 1568×78 pixels (was png, 2000×100)" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	p.fails("read_file", args{"path": "broken.png"}, "broken.png: the picture is broken: ")
	p.fails("read_file", args{"path": "none.png"}, "none.png: the picture is broken: it does not begin as a .png file does")
	for name, want := range map[string]string{"text.png": "     1→a", "logo.svg": "<svg"} {
		if r := p.call("read_file", args{"path": name}); r.IsError || len(r.Pictures) > 0 || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
