package storefiles

import (
	"bytes"
	"fmt"
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

// TestBlocks: of a block in which bytes were changed, all records are read that were
// not touched, and no other.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const first = 7
		n := rapid.IntRange(1, 20).Draw(t, "messages")
		data, starts := testBlock("S", 3, first, first+uint64(n)-1)
		starts = append(starts, len(data))
		touched := make(map[int]bool)
		garbled := bytes.Clone(data)
		for _, at := range rapid.SliceOfN(rapid.IntRange(0, len(data)-1), 0, 4).Draw(t, "at") {
			garbled[at] = data[at] ^ 0x55
			for i := range n {
				if at >= starts[i] && at < starts[i+1] {
					touched[i] = true
				}
			}
		}
		b := parseBlock(garbled, checksums("S", 3))
		var want []byte
		for i := range n {
			if !touched[i] {
				want = append(want, data[starts[i]:starts[i+1]]...)
			}
		}
		got := garbled
		if len(b.bad) > 0 {
			got = b.good
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes are read, want %d", len(got), len(want))
		}
	})
}

// FuzzBlock: whatever is in a block, what is read of it can be read again.
func FuzzBlock(f *testing.F) {
	data, _ := testBlock("S", 1, 1, 3)
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add(append(deleted(9, time.Unix(1, 0), checksums("S", 1)), data...))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := parseBlock(data, checksums("S", 1))
		if len(b.bad) == 0 {
			return
		}
		again := parseBlock(b.good, checksums("S", 1))
		if len(again.bad) > 0 || again.first != b.first || again.last != b.last || again.top != b.top {
			t.Errorf("%+v, read again %+v", b, again)
		}
	})
}
