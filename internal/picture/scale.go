package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
)

// maxPNG bounds a png that is kept as one, in bytes. A larger one becomes a jpeg where that is
// smaller.
const maxPNG = 1 << 20

// quality is the quality of jpegs, from 1 to 100.
const quality = 85

// shrunk returns a picture whose edges are at most [MaxEdge] long.
func shrunk(full image.Image) *image.RGBA {
	size := full.Bounds().Size()
	long := max(size.X, size.Y)
	full = averaged(full, long/MaxEdge)
	width, height := size.X, size.Y
	if long > MaxEdge {
		width, height = max(1, size.X*MaxEdge/long), max(1, size.Y*MaxEdge/long)
	}
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	if full.Bounds().Size() == small.Rect.Size() {
		draw.Draw(small, small.Rect, full, full.Bounds().Min, draw.Src)
	} else {
		draw.CatmullRom.Scale(small, small.Rect, full, full.Bounds(), draw.Src, nil)
	}
	return small
}

// averaged returns a picture with one pixel for each block of n×n. A library's scaler would
// need ten times the memory of a large picture.
func averaged(full image.Image, n int) image.Image {
	source, ok := full.(image.RGBA64Image)
	if n < 2 || !ok {
		return full
	}
	from := full.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, (from.Dx()+n-1)/n, (from.Dy()+n-1)/n))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			block := image.Rect(0, 0, n, n).Add(from.Min).Add(image.Pt(x*n, y*n)).Intersect(from)
			out.SetRGBA64(x, y, average(source, block))
		}
	}
	return out
}

func average(source image.RGBA64Image, block image.Rectangle) color.RGBA64 {
	var r, g, b, a uint64
	for y := block.Min.Y; y < block.Max.Y; y++ {
		for x := block.Min.X; x < block.Max.X; x++ {
			c := source.RGBA64At(x, y)
			r, g, b, a = r+uint64(c.R), g+uint64(c.G), b+uint64(c.B), a+uint64(c.A)
		}
	}
	n := uint64(block.Dx() * block.Dy())
	return color.RGBA64{R: uint16(r / n), G: uint16(g / n), B: uint16(b / n), A: uint16(a / n)}
}

// turned returns a picture upright. orientation is as Exif has it.
func turned(p *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 {
		return p
	}
	w, h := p.Rect.Dx(), p.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			to := [...]image.Point{
				2: {w - 1 - x, y}, 3: {w - 1 - x, h - 1 - y}, 4: {x, h - 1 - y},
				5: {y, x}, 6: {h - 1 - y, x}, 7: {h - 1 - y, w - 1 - x}, 8: {y, w - 1 - x},
			}[orientation]
			out.SetRGBA(to.X, to.Y, p.RGBAAt(x, y))
		}
	}
	return out
}

// encode writes a picture: as jpeg what was one, else as png, unless that gets long.
func encode(p *image.RGBA, format string) (data []byte, mediaType string, err error) {
	var asPNG, asJPEG bytes.Buffer
	if format != "jpeg" {
		if err := png.Encode(&asPNG, p); err != nil {
			return nil, "", err
		}
		if asPNG.Len() <= maxPNG {
			return asPNG.Bytes(), "image/png", nil
		}
		white := image.NewRGBA(p.Rect) // a jpeg has no transparency
		draw.Draw(white, white.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(white, white.Rect, p, image.Point{}, draw.Over)
		p = white
	}
	if err := jpeg.Encode(&asJPEG, p, &jpeg.Options{Quality: quality}); err != nil {
		return nil, "", err
	}
	if asPNG.Len() > 0 && asPNG.Len() < asJPEG.Len() {
		return asPNG.Bytes(), "image/png", nil
	}
	return asJPEG.Bytes(), "image/jpeg", nil
}
