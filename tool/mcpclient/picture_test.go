package mcpclient_test

import "testing"

// TestPictures: an image of a server's result is a picture, and a broken one a line.
func TestPictures(t *testing.T) {
	p := newPlace(t, self("t"))
	r := p.call("mcp__t__lies", "")
	p.wants(r, false, "(image 1: it is no picture of a known format", "(image 1: a picture, image/png, 1×1 pixels)", `{"n":1}`)
	if len(r.Pictures) != 1 || r.Pictures[0].Width != 1 {
		t.Errorf("%+v", r.Pictures)
	}
}
