package glob

import (
	"errors"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
)

// Bounds of an automaton. They keep a file full of patterns small: the table of
// one pattern has at most maxStates rows.
const (
	maxStates = 500
	maxWork   = 400_000 // edges and states looked at to build one
)

var errTooComplex = errors.New("!(…) here takes too many states; write a rule that denies instead")

// automaton is a deterministic finite automaton. It is what a pattern becomes
// that neither gobwas/glob nor regexp can express: one with "none of these" at
// a place that is not certain. State 0 is the start.
type automaton struct {
	bounds []rune   // the first character of each class; bounds[0] is 0
	next   []uint16 // by state and class
	accept []bool   // by state
}

func (a *automaton) class(r rune) int {
	return sort.Search(len(a.bounds), func(i int) bool { return a.bounds[i] > r }) - 1
}

func (a *automaton) step(state uint16, r rune) uint16 {
	return a.next[int(state)*len(a.bounds)+a.class(r)]
}

func (a *automaton) matchString(s string) bool {
	var state uint16
	for _, r := range halve(s) {
		state = a.step(state, r)
	}
	return a.accept[state]
}

// acceptsAll reports whether every text that is not empty is accepted.
func (a *automaton) acceptsAll() bool {
	for _, state := range a.next {
		if !a.accept[state] {
			return false
		}
	}
	return true
}

// without returns the automaton of what a accepts and b does not.
func (a *automaton) without(b *automaton) (*automaton, error) {
	bounds := slices.Concat(a.bounds, b.bounds)
	slices.Sort(bounds)
	both := &automaton{bounds: slices.Compact(bounds)}
	type pair struct{ a, b uint16 }
	states := []pair{{}}
	number := map[pair]uint16{{}: 0}
	for i := 0; i < len(states); i++ {
		p := states[i]
		both.accept = append(both.accept, a.accept[p.a] && !b.accept[p.b])
		for _, r := range both.bounds {
			to := pair{a.step(p.a, r), b.step(p.b, r)}
			n, ok := number[to]
			if !ok {
				if n = uint16(len(states)); n == maxStates {
					return nil, errTooComplex
				}
				number[to] = n
				states = append(states, to)
			}
			both.next = append(both.next, n)
		}
	}
	return both.minimal(), nil
}

// network is a nondeterministic automaton under construction.
type network struct {
	states []netState
	work   int // done so far, up to maxWork
	round  int // of closure
}

type netState struct {
	edges  []edge
	free   []int // states that follow without a character
	atEnd  []int // the same, at the end of the text alone
	accept bool
	seen   int // the last round that came by
}

type edge struct {
	lo, hi rune
	to     int
}

func (n *network) add(s netState) int {
	n.states = append(n.states, s)
	return len(n.states) - 1
}

// expr adds a regular expression, behind which the state next follows, and
// returns where it starts.
func (n *network) expr(text string, next int) (int, error) {
	re, err := syntax.Parse(`(?s:`+text+`)`, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0, err
	}
	base := len(n.states)
	for i := range prog.Inst {
		in := &prog.Inst[i]
		to := base + int(in.Out)
		var s netState
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			s.free = []int{to, base + int(in.Arg)}
		case syntax.InstCapture, syntax.InstNop:
			s.free = []int{to}
		case syntax.InstEmptyWidth: // \z, the only one that patterns render to
			s.atEnd = []int{to}
		case syntax.InstMatch:
			s.free = []int{next}
		case syntax.InstRune1:
			s.edges = []edge{{in.Rune[0], in.Rune[0], to}}
		case syntax.InstRuneAny:
			s.edges = []edge{{0, unicode.MaxRune, to}}
		case syntax.InstRune:
			if len(in.Rune) == 1 {
				s.edges = []edge{{in.Rune[0], in.Rune[0], to}}
			}
			for k := 0; k+1 < len(in.Rune); k += 2 {
				s.edges = append(s.edges, edge{in.Rune[k], in.Rune[k+1], to})
			}
		}
		n.add(s)
	}
	return base + prog.Start, nil
}

// embed adds an automaton and returns where it starts.
func (n *network) embed(a *automaton) int {
	base := len(n.states)
	for state, accept := range a.accept {
		s := netState{accept: accept}
		for c, lo := range a.bounds {
			hi := rune(unicode.MaxRune)
			if c+1 < len(a.bounds) {
				hi = a.bounds[c+1] - 1
			}
			to := base + int(a.next[state*len(a.bounds)+c])
			if k := len(s.edges) - 1; k >= 0 && s.edges[k].to == to {
				s.edges[k].hi = hi
				continue
			}
			s.edges = append(s.edges, edge{lo, hi, to})
		}
		n.add(s)
	}
	return base
}

// closure returns the states that can be in force with those of set, in order.
func (n *network) closure(set []int, atEnd bool) []int {
	n.round++
	var all []int
	todo := slices.Clone(set)
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if n.states[s].seen == n.round {
			continue
		}
		n.states[s].seen = n.round
		all = append(all, s)
		n.work++
		todo = append(todo, n.states[s].free...)
		if atEnd {
			todo = append(todo, n.states[s].atEnd...)
		}
	}
	slices.Sort(all)
	return all
}

// deterministic returns the automaton of what is accepted from the state start.
func (n *network) deterministic(start int) (*automaton, error) {
	a := &automaton{bounds: []rune{0}}
	for _, s := range n.states {
		for _, e := range s.edges {
			a.bounds = append(a.bounds, e.lo)
			if e.hi < unicode.MaxRune {
				a.bounds = append(a.bounds, e.hi+1)
			}
		}
	}
	slices.Sort(a.bounds)
	a.bounds = slices.Compact(a.bounds)
	sets := [][]int{n.closure([]int{start}, false)}
	number := map[string]uint16{key(sets[0]): 0}
	for i := 0; i < len(sets); i++ {
		a.accept = append(a.accept, slices.ContainsFunc(n.closure(sets[i], true), func(s int) bool { return n.states[s].accept }))
		for _, r := range a.bounds {
			var to []int
			for _, s := range sets[i] {
				for _, e := range n.states[s].edges {
					if n.work++; e.lo <= r && r <= e.hi {
						to = append(to, e.to)
					}
				}
			}
			to = n.closure(to, false)
			if n.work > maxWork {
				return nil, errTooComplex
			}
			k := key(to)
			state, ok := number[k]
			if !ok {
				if state = uint16(len(sets)); state == maxStates {
					return nil, errTooComplex
				}
				number[k] = state
				sets = append(sets, to)
			}
			a.next = append(a.next, state)
		}
	}
	return a.minimal(), nil
}

// minimal returns the smallest automaton that accepts the same: states that
// nothing tells apart become one.
func (a *automaton) minimal() *automaton {
	group := make([]uint16, len(a.accept))
	for s, accept := range a.accept {
		if accept != a.accept[0] {
			group[s] = 1
		}
	}
	for groups := 0; ; {
		number := map[string]uint16{}
		refined := make([]uint16, len(group))
		for s := range group {
			k := []byte{byte(group[s]), byte(group[s] >> 8)}
			for c := range a.bounds {
				to := group[a.next[s*len(a.bounds)+c]]
				k = append(k, byte(to), byte(to>>8))
			}
			n, ok := number[string(k)]
			if !ok {
				n = uint16(len(number))
				number[string(k)] = n
			}
			refined[s] = n
		}
		group = refined
		if len(number) == groups {
			break
		}
		groups = len(number)
	}
	small := &automaton{bounds: a.bounds}
	for s := range group {
		if int(group[s]) < len(small.accept) {
			continue
		}
		small.accept = append(small.accept, a.accept[s])
		for c := range a.bounds {
			small.next = append(small.next, group[a.next[s*len(a.bounds)+c]])
		}
	}
	return small
}

// key returns a text that no other set of states has.
func key(set []int) string {
	b := make([]byte, 0, 3*len(set))
	for _, s := range set {
		b = append(b, byte(s), byte(s>>8), byte(s>>16))
	}
	return string(b)
}
