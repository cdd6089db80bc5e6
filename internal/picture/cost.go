package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
)

// perPixel returns about how many bytes of memory the decoders of this program need for a
// pixel of a picture.
func perPixel(format string, cfg image.Config, data []byte) int64 {
	switch format {
	case "gif":
		return 1
	case "webp":
		return 8 // lossless: the pixels, and what a transformation makes of them
	case "jpeg":
		bytes := int64(3)
		if cfg.ColorModel == color.CMYKModel {
			bytes = 4
		}
		if progressive(data) { // all coefficients are kept, in four bytes each
			bytes *= 5
		}
		return bytes
	}
	size := int64(4)
	switch cfg.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model:
		size = 8
	case color.Gray16Model:
		size = 2
	case color.GrayModel:
		size = 1
	}
	if size < 4 && len(data) > 24 && transparent(data) { // gray with alpha: as many as in color
		size *= 4
	}
	if len(data) > 28 && data[28] != 0 { // interlaced: its passes are pictures of their own
		size *= 2
	}
	return size
}

// segments calls f with the marker and the content of each segment of a jpeg before its pixels,
// until f returns false.
func segments(data []byte, f func(marker byte, content []byte) bool) {
	for data = data[min(2, len(data)):]; len(data) >= 4 && data[0] == 0xFF; {
		if data[1] == 0xFF { // a fill byte
			data = data[1:]
			continue
		}
		marker, size := data[1], int(binary.BigEndian.Uint16(data[2:]))
		if size < 2 || 2+size > len(data) || marker == 0xDA || !f(marker, data[4:2+size]) {
			return
		}
		data = data[2+size:]
	}
}

// progressive reports whether a jpeg is progressive.
func progressive(data []byte) (is bool) {
	segments(data, func(marker byte, _ []byte) bool {
		is = is || marker == 0xC2
		return !is
	})
	return is
}

// orientation returns how a picture has to be turned to be seen upright, from 1 to 8 as Exif has
// it (tag 0x0112). Only jpegs say so.
func orientation(format string, data []byte) int {
	found := 1
	if format != "jpeg" {
		return found
	}
	segments(data, func(marker byte, content []byte) bool {
		tiff, ok := bytes.CutPrefix(content, []byte("Exif\x00\x00"))
		if marker != 0xE1 || !ok || len(tiff) < 8 {
			return true
		}
		var order binary.ByteOrder = binary.BigEndian
		if tiff[0] == 'I' {
			order = binary.LittleEndian
		}
		at := int64(order.Uint32(tiff[4:]))
		if at+2 > int64(len(tiff)) {
			return false
		}
		entries := tiff[at+2:]
		for range order.Uint16(tiff[at:]) {
			if len(entries) < 12 {
				break
			}
			if order.Uint16(entries) == 0x0112 {
				if value := int(order.Uint16(entries[8:])); value >= 1 && value <= 8 {
					found = value
				}
				break
			}
			entries = entries[12:]
		}
		return false
	})
	return found
}

// transparent reports whether a PNG has a chunk tRNS, or bytes that look like one.
func transparent(data []byte) bool { return bytes.Contains(data, []byte("tRNS")) }
