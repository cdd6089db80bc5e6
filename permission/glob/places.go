package glob

import (
	"math/bits"
	"sync"
	"unicode/utf16"
)

// reading is a text that is matched, and memory for that.
type reading struct {
	text []uint16       // in UTF-16, as picomatch sees it
	seen map[int]places // by the number of a group that repeats
	free []uint64       // memory for sets
	used int            // words of free that are in use
}

var readings = sync.Pool{New: func() any { return &reading{seen: map[int]places{}, free: make([]uint64, 128)} }}

func newReading(s string) *reading {
	r := readings.Get().(*reading)
	r.text, r.used = r.text[:0], 0
	clear(r.seen)
	for _, c := range s {
		r.text = utf16.AppendRune(r.text, c)
	}
	return r
}

func (r *reading) release() {
	if cap(r.text) <= 4096 && len(r.free) <= 4096 { // what a long text took is not kept
		readings.Put(r)
	}
}

// none returns an empty set. It is valid until [reading.forget].
func (r *reading) none() places {
	words := len(r.text)/64 + 1
	if r.used+words > len(r.free) {
		r.free, r.used = make([]uint64, 2*(r.used+words)), 0
	}
	set := places(r.free[r.used : r.used+words])
	r.used += words
	clear(set)
	return set
}

func (r *reading) copy(p places) places {
	set := r.none()
	copy(set, p)
	return set
}

// forget frees the sets that were made since used had this value.
func (r *reading) forget(used int) { r.used = used }

// seenBy returns the set of a group that repeats, which lasts as long as r.
func (r *reading) seenBy(n node) places {
	if r.seen[n.number] == nil {
		r.seen[n.number] = make(places, len(r.text)/64+1)
	}
	return r.seen[n.number]
}

// places is a set of offsets in a text, a bit each. The last offset is its
// length.
type places []uint64

func (p places) has(i int) bool { return p[i/64]>>(i%64)&1 != 0 }
func (p places) add(i int)      { p[i/64] |= 1 << (i % 64) }

func (p places) union(q places) {
	for i, word := range q {
		p[i] |= word
	}
}

func (p places) subtract(q places) {
	for i, word := range q {
		p[i] &^= word
	}
}

func (p places) empty() bool { return p.last() < 0 }

// last returns the last place, or -1.
func (p places) last() int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0 {
			return i*64 + bits.Len64(p[i]) - 1
		}
	}
	return -1
}

// fill replaces p by all places up to last, or none if that is negative.
func (p places) fill(last int) {
	clear(p)
	for i := 0; i <= last/64 && last >= 0; i++ {
		p[i] = ^uint64(0)
		if i == last/64 {
			p[i] >>= 63 - last%64
		}
	}
}

// move replaces each place by the one before it that to returns, if that is not
// negative.
func (p places) move(to func(i int) int) {
	for w, word := range p {
		p[w] = 0
		for ; word != 0; word &= word - 1 {
			if i := to(w*64 + bits.TrailingZeros64(word)); i >= 0 {
				p.add(i)
			}
		}
	}
}
