package storefiles

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// testBlock returns a block with the messages from one sequence number to another,
// and where each record begins.
func testBlock(stream string, number int, first, last uint64) (data []byte, starts []int) {
	sum := checksums(stream, number)
	for seq := first; seq <= last; seq++ {
		starts = append(starts, len(data))
		data = append(data, record(seq, time.Unix(int64(seq), 0), "s", fmt.Sprint("message ", seq), sum)...)
	}
	return data, starts
}

// TestBlocks: of a block in which bytes were changed, all records are read up to the first
// one that was touched.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const first = 7
		n := rapid.IntRange(1, 20).Draw(t, "messages")
		data, starts := testBlock("S", 3, first, first+uint64(n)-1)
		intact := bytes.Clone(data)
		for _, at := range rapid.SliceOfN(rapid.IntRange(0, len(data)-1), 0, 4).Draw(t, "at") {
			data[at] ^= 0x55 // twice undoes it
		}
		end := len(data)
		for at := range data {
			if data[at] != intact[at] {
				i, exact := slices.BinarySearch(starts, at)
				if !exact {
					i--
				}
				end = starts[i]
				break
			}
		}
		if b := parseBlock(data, checksums("S", 3)); b.end != end || b.bad != (b.end < len(data)) {
			t.Errorf("%d bytes are read, want %d", b.end, end)
		}
	})
}

// TestLengths: a record whose length of the headers, or of the subject, says that these end
// in another place is none, though its checksum has no part of them.
func TestLengths(t *testing.T) {
	const subject, headers, message = "agents.v1.ws.events.ses_r.turn", "NATS/1.0\r\nNats-Msg-Id: ses_r.1\r\n\r\n", `{"type":"usage"}`
	sum := checksums("S", 1)
	data := make([]byte, headSize, 300)
	binary.LittleEndian.PutUint64(data[4:], 7)
	binary.LittleEndian.PutUint16(data[20:], uint16(len(subject)))
	data = append(data, subject...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(headers)))
	data = append(data, headers+message...)
	binary.LittleEndian.PutUint32(data, uint32(len(data)+checkSize)|hasHeader)
	sum.Reset()
	sum.Write(data[4:20])
	sum.Write([]byte(subject + headers + message))
	data = sum.Sum(data)
	if recordAt(data, sum) != len(data) {
		t.Fatal("the record is none")
	}
	for at := headSize + len(subject); at < headSize+len(subject)+4; at++ {
		for flip := 1; flip < 256; flip++ {
			garbled := bytes.Clone(data)
			garbled[at] ^= byte(flip)
			if recordAt(garbled, sum) != 0 {
				t.Errorf("byte %d of it, changed by %#x, is not noticed", at, flip)
			}
		}
	}
	plain := record(7, time.Unix(7, 0), subject, message, sum)
	for longer := 1; longer <= len(message); longer++ {
		binary.LittleEndian.PutUint16(plain[20:], uint16(len(subject)+longer))
		if recordAt(plain, sum) != 0 {
			t.Errorf("a subject that is %d bytes longer is not noticed", longer)
		}
	}
}

// FuzzBlock: whatever is in a block, what is read of it can be read again.
func FuzzBlock(f *testing.F) {
	data, _ := testBlock("S", 1, 1, 3)
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add(append(deleted(9, time.Unix(1, 0), checksums("S", 1)), data...))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := parseBlock(data, checksums("S", 1))
		again := parseBlock(data[:b.end], checksums("S", 1))
		if again.bad || again.first != b.first || again.last != b.last || again.top != b.top {
			t.Errorf("%+v, read again %+v", b, again)
		}
	})
}
