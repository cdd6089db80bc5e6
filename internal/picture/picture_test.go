package picture_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/picture"
)

// halves is a picture whose left half is red and whose right half is blue.
func halves(width, height int) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.RGBA{R: 255, A: 255}
			if x >= width/2 {
				c = color.RGBA{B: 255, A: 255}
			}
			p.SetRGBA(x, y, c)
		}
	}
	return p
}

func asPNG(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t testing.TB, p image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asGIF(t testing.TB, frames ...image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	g := &gif.GIF{}
	for _, f := range frames {
		p := image.NewPaletted(f.Bounds(), color.Palette{color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}})
		for y := range f.Bounds().Dy() {
			for x := range f.Bounds().Dx() {
				p.Set(x, y, f.At(x, y))
			}
		}
		g.Image, g.Delay = append(g.Image, p), append(g.Delay, 1)
	}
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exif puts the orientation in a jpeg, as a camera does.
func exif(data []byte, orientation byte) []byte {
	segment := []byte("\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string([]byte{orientation}) + "\x00\x00\x00\x00\x00\x00")
	return append(append([]byte{0xff, 0xd8}, segment...), data[2:]...)
}

// webp is a lossless picture of one red pixel: https://developers.google.com/speed/webp/docs/webp_lossless_bitstream_specification
var webp = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")

func TestRead(t *testing.T) {
	wide := halves(4000, 1000)
	for _, c := range []struct {
		name          string
		data          []byte
		media, from   string
		width, height int
		left, right   color.Color // nil means not looked at
	}{
		{"small.png", asPNG(t, halves(40, 20)), "image/png", "", 40, 20, color.RGBA{R: 255}, color.RGBA{B: 255}},
		{"wide.png", asPNG(t, wide), "image/png", "png, 4000×1000", 1568, 392, color.RGBA{R: 255}, color.RGBA{B: 255}},
		{"odd.png", asPNG(t, halves(1569, 2)), "image/png", "png, 1569×2", 1568, 1, color.RGBA{R: 255}, color.RGBA{B: 255}},
		{"photo.jpg", asJPEG(t, wide, 90), "image/jpeg", "jpeg, 4000×1000", 1568, 392, color.RGBA{R: 255}, color.RGBA{B: 255}},
		{"moves.gif", asGIF(t, halves(30, 10), image.NewRGBA(image.Rect(0, 0, 30, 10))), "image/png", "gif, 30×10", 30, 10, color.RGBA{R: 255}, color.RGBA{B: 255}},
		{"dot.webp", webp, "image/png", "webp, 1×1", 1, 1, nil, nil},
		{"mirrored.jpg", exif(asJPEG(t, halves(64, 32), 95), 2), "image/jpeg", "", 64, 32, color.RGBA{B: 255}, color.RGBA{R: 255}},
		{"upside.jpg", exif(asJPEG(t, halves(64, 32), 95), 3), "image/jpeg", "", 64, 32, color.RGBA{B: 255}, color.RGBA{R: 255}},
		{"turned.jpg", exif(asJPEG(t, halves(64, 32), 95), 6), "image/jpeg", "jpeg, 64×32", 32, 64, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := picture.Read(c.name, c.data)
			if err != nil {
				t.Fatal(err)
			}
			if p.MediaType != c.media || p.From != c.from || p.Width != c.width || p.Height != c.height || p.Name != c.name {
				t.Errorf("%s, from %q, %d×%d, want %s, from %q, %d×%d", p.MediaType, p.From, p.Width, p.Height, c.media, c.from, c.width, c.height)
			}
			back, _, err := image.Decode(bytes.NewReader(p.Data))
			if err != nil || back.Bounds().Dx() != p.Width || back.Bounds().Dy() != p.Height {
				t.Fatalf("what was made of it: %v, %v", back, err)
			}
			if bytes.Contains(p.Data, []byte("Exif")) {
				t.Error("it says where it was taken")
			}
			if c.left == nil {
				return
			}
			for i, want := range []color.Color{c.left, c.right} {
				r, _, b, _ := back.At(p.Width/4+i*p.Width/2, p.Height/2).RGBA()
				wr, _, wb, _ := want.RGBA()
				if r>>15 != wr>>15 || b>>15 != wb>>15 {
					t.Errorf("half %d is red %d, blue %d", i, r>>8, b>>8)
				}
			}
		})
	}
}

// bomb is a png whose header says how large it is, and which has no pixels.
func bomb(width, height uint32, depth, kind byte) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d")
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height)
	head = append(head, depth, kind, 0, 0, 0)
	return binary.BigEndian.AppendUint32(append(b, head...), crc32.ChecksumIEEE(head))
}

func TestRefused(t *testing.T) {
	whole := asPNG(t, halves(200, 200))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0xff
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty.png", nil, "empty.png: the picture is empty"},
		{"cut.png", whole[:len(whole)/2], "cut.png: the picture is broken: "},
		{"head.png", whole[:20], "head.png: the picture is broken: its end is missing"},
		{"flipped.png", flipped, "flipped.png: the picture is broken: "},
		{"cut.jpg", asJPEG(t, halves(64, 64), 90)[:300], "cut.jpg: the picture is broken: "},
		{"none.png", []byte("hello"), "none.png: the picture is broken: it does not begin as a .png file does"},
		{"logo.svg", []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`), "an svg is text: give it as text, or convert it to png"},
		{"doc.pdf", []byte("%PDF-1.7\n"), "a pdf is no picture: convert its pages to png (pdftoppm -png)"},
		{"x.bin", []byte{0, 1, 2}, "x.bin: it is no picture of a known format"},
		{"bomb.png", bomb(60_000, 60_000, 8, 2), "bomb.png: the picture has 60000×60000 pixels, which is 3600.0 million, and at most 50.0 million"},
		{"deep.png", bomb(7000, 7000, 16, 6), "49.0 million, and at most 39.3 million of this kind are decoded: make it smaller"},
		{"gray.png", append(bomb(7000, 7000, 16, 0), "\x00\x00\x00\x02tRNS\x00\x01\x00\x00\x00\x00"...), "49.0 million, and at most 39.3 million of this kind"},
		{"flat.gif", []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00"), "65535×65535"},
		{"zero.png", bomb(0, 5, 8, 2), "zero.png: the picture is broken: "},
		{"large.png", append(bomb(1, 1, 8, 2), make([]byte, picture.MaxBytes)...), "large.png: the picture has 32.0 MB, and at most 32.0 MB are read: make it smaller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := picture.Read(c.name, c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestMemory: a photo of 30 MB is read, and all that it needs is bounded.
func TestMemory(t *testing.T) {
	photo := asJPEG(t, image.NewYCbCr(image.Rect(0, 0, 3200, 2600), image.YCbCrSubsampleRatio420), 93)
	comment := append([]byte{0xff, 0xfe, 0xff, 0xff}, make([]byte, 0xfffd)...) // as long as one can be
	photo = slices.Concat(photo[:2], bytes.Repeat(comment, 460), photo[2:])
	if len(photo) < 28<<20 || len(photo) > picture.MaxBytes {
		t.Fatalf("the photo has %d bytes", len(photo))
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := picture.Read("photo.jpg", photo)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB made %d KB, with %d MB of memory", len(photo)>>20, len(p.Data)>>10, (after.TotalAlloc-before.TotalAlloc)>>20)
	if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
		t.Errorf("it needed %d MB", used>>20)
	}
	if len(p.Data) > 3<<20 || max(p.Width, p.Height) != picture.MaxEdge {
		t.Errorf("%d×%d, %d bytes", p.Width, p.Height, len(p.Data))
	}
}

func FuzzRead(f *testing.F) {
	for _, data := range [][]byte{asPNG(f, halves(8, 8)), exif(asJPEG(f, halves(8, 8), 80), 6), asGIF(f, halves(8, 8)), webp, bomb(9, 9, 8, 2)} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := picture.Read("x", data)
		if err != nil {
			return
		}
		if p.Width < 1 || p.Height < 1 || max(p.Width, p.Height) > picture.MaxEdge || len(p.Data) == 0 {
			t.Errorf("%+v", p)
		}
	})
}
