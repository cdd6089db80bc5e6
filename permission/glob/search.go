package glob

import (
	"slices"
	"strings"
)

// search matches every pattern. It reads the nodes from the last to the first,
// and keeps the places in the text from which the nodes so far match up to its
// end. So "none of these" is a difference of two sets.
//
// A node takes time linear in the length of the text; a group that repeats
// takes it once for each round of repetitions.
type search struct {
	seq               []node
	begin, holds, end string // literals that every match has, cheap to look for
}

func newSearch(seq []node) matcher {
	m := &search{seq: seq}
	if i := slices.Index(ops(seq), opStar); i > 0 {
		seq[i].limit = width(seq[:i])
	}
	if seq[0].op == opStar && hasNot(seq) && matchNodes(seq[1:], "") { // as in "*!(a)"
		return anything{}
	}
	for i, n := range seq {
		if n.op != opLiteral {
			continue
		}
		switch text := n.String(); {
		case i == 0:
			m.begin = text
		case i == len(seq)-1:
			m.end = text
		case len(text) > len(m.holds):
			m.holds = text
		}
	}
	return m
}

func (m *search) matchString(s string) bool {
	return strings.HasPrefix(s, m.begin) && strings.HasSuffix(s, m.end) && strings.Contains(s, m.holds) && matchNodes(m.seq, s)
}

// width returns how many characters seq matches at most, 0 if that is not known.
func width(seq []node) int {
	sum := 0
	for _, n := range seq {
		switch {
		case n.op == opLiteral:
			sum += len(n.text)
		case n.op == opClass:
			sum++
		case n.op == opGroup && n.quant == 0 && !n.ownsSlash:
			widest := 0
			for _, alt := range n.alts {
				w := width(alt)
				if w == 0 && len(alt) > 0 {
					return 0
				}
				widest = max(widest, w)
			}
			sum += widest
		default:
			return 0
		}
	}
	return sum
}

// matchNodes reports whether the nodes match all of s.
func matchNodes(seq []node, s string) bool {
	r := newReading(s)
	defer r.release()
	start := 0 // of what seq still has to match; a mismatch at the front is found first
	for ; len(seq) > 0 && (seq[0].op == opLiteral || seq[0].op == opClass); seq = seq[1:] {
		size, ok := seq[0].front(r.text[start:])
		if !ok {
			return false
		}
		start += size
	}
	at := r.none()
	at.add(len(r.text))
	r.back(seq, at)
	return at.has(start)
}

// front returns how much a literal or a class matches at the front of the text.
func (n node) front(text []uint16) (size int, ok bool) {
	if n.op == opClass {
		return 1, len(text) > 0 && n.has(text[0])
	}
	return len(n.text), len(text) >= len(n.text) && slices.Equal(text[:len(n.text)], n.text)
}

// back replaces the places in at by those from which seq leads to one of them.
func (r *reading) back(seq []node, at places) {
	for i, n := range slices.Backward(seq) {
		switch n.op {
		case opLiteral:
			r.literal(n.text, at)
		case opStar:
			last := at.last()
			if n.limit > 0 {
				last = min(last, n.limit)
			}
			at.fill(last)
		case opSome:
			at.fill(at.last() - 1)
		case opClass:
			at.move(func(i int) int {
				if i > 0 && n.has(r.text[i-1]) {
					return i - 1
				}
				return -1
			})
		case opEnd:
			end := at.has(len(r.text))
			clear(at)
			if end {
				at.add(len(r.text))
			}
		case opGroup:
			r.group(n, at)
		case opNot:
			r.not(n, seq[i+1:], at)
		}
	}
}

func (r *reading) literal(text []uint16, at places) {
	at.move(func(i int) int {
		i -= len(text)
		if i < 0 || !slices.Equal(r.text[i:i+len(text)], text) {
			return -1
		}
		return i
	})
}

// group reads a group back, as often as its quantifier allows.
func (r *reading) group(n node, at places) {
	defer r.forget(r.used)
	switch n.quant {
	case 0:
		r.either(n.alts, at, at)
		return
	case '?':
		skipped := r.copy(at)
		r.either(n.alts, at, at)
		at.union(skipped)
		return
	}
	seen := r.seenBy(n) // where a repetition has ended that was read; what it leads to is known
	todo := r.copy(at)
	todo.subtract(seen)
	if n.quant == '+' {
		clear(at)
	}
	for !todo.empty() {
		seen.union(todo)
		r.either(n.alts, todo, todo)
		at.union(todo)
		todo.subtract(seen)
	}
}

// either sets to to the places from which one of alts leads to from.
func (r *reading) either(alts [][]node, from, to places) {
	defer r.forget(r.used)
	all := r.none()
	for _, alt := range alts {
		one := r.copy(from)
		r.back(alt, one)
		all.union(one)
	}
	copy(to, all)
}

// not reads "!(…)" back; rest is what follows it. As in picomatch, a group at
// the end excludes the rest of the text; any other group excludes what begins
// at its place. Then any text follows, or text without "/".
func (r *reading) not(n node, rest []node, at places) {
	defer r.forget(r.used)
	excluded := r.none()
	excluded.add(len(r.text))
	if !n.toEnd {
		excluded.fill(len(r.text))
	}
	if n.extension {
		clear(r.seen) // rest is read a second time, to other places
		r.back(rest, excluded)
	}
	r.either(n.alts, excluded, excluded)
	if n.toEnd || n.extension {
		at.fill(at.last())
	} else {
		for i := at.last() - 1; i >= 0; i-- {
			if at.has(i+1) && r.text[i] != '/' {
				at.add(i)
			}
		}
	}
	at.subtract(excluded)
}

// has reports whether a class holds the character.
func (n node) has(c uint16) bool {
	for i := 0; i < len(n.text); i += 2 {
		if n.text[i] <= c && c <= n.text[i+1] {
			return !n.negated
		}
	}
	return n.negated
}
