package commands

import (
	"testing"

	"pgregory.net/rapid"
)

// TestLog: whatever is written, a log has the first and the last half of its size at their
// offsets, and says which part is gone.
func TestLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := int64(2 * rapid.IntRange(1, 20).Draw(t, "half"))
		log, err := newLog("", size)
		if err != nil {
			t.Fatal(err)
		}
		defer log.close()
		var all []byte
		for _, part := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 50), 0, 12).Draw(t, "parts") {
			_, _ = log.Write(part)
			all = append(all, part...)
		}
		total := int64(len(all))
		from := rapid.Int64Range(0, total).Draw(t, "from")
		to := rapid.Int64Range(from, total).Draw(t, "to")
		before, after, gone, err := log.read(span{from, to})
		if err != nil {
			t.Fatal(err)
		}
		half := size / 2
		lost := span{max(from, half), min(to, total-half)}
		if total <= size || lost.size() == 0 {
			lost = span{}
		}
		want, wantAfter := all[from:to], []byte(nil)
		if lost.size() > 0 {
			want, wantAfter = all[from:max(from, lost.from)], all[lost.to:to]
		}
		if string(before) != string(want) || string(after) != string(wantAfter) || gone.size() != lost.size() || gone.size() > 0 && gone != lost {
			t.Fatalf("%d to %d of %d in %d: %q, %q, without %v; want %q, %q, without %v", from, to, total, size, before, after, gone, want, wantAfter, lost)
		}
	})
}
