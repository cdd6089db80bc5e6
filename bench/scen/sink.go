package scen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Sink is the consumer of the parent's events. A peer hands it every event that
// its framework hands the consumer. The zero value counts; it is safe for
// concurrent use.
type Sink struct {
	Track bool // keep each child's text, for a check of order

	mu            sync.Mutex
	parent, child int // events
	bytes         int // of the children's text
	texts         map[string]*strings.Builder
}

// ParentEvent takes an event of the parent.
func (k *Sink) ParentEvent() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parent++
}

// ChildEvent takes an event of a child that holds no text.
func (k *Sink) ChildEvent() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.child++
}

// Delta takes text of a child: one piece of the model's, or several joined.
// child tells the children apart.
func (k *Sink) Delta(child, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.child++
	k.bytes += len(text)
	if !k.Track {
		return
	}
	if k.texts == nil {
		k.texts = make(map[string]*strings.Builder)
	}
	if k.texts[child] == nil {
		k.texts[child] = new(strings.Builder)
	}
	k.texts[child].WriteString(text)
}

// Check returns an error unless the consumer has got what a run of the script
// says: without Track as much text as the children have written; with it, from
// each child its whole text, with nothing lost, doubled or out of order.
func (k *Sink) Check(s *Script) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	want := s.Text()
	if k.Track {
		if len(k.texts) != s.Fan {
			return fmt.Errorf("the consumer got text of %d children, want %d", len(k.texts), s.Fan)
		}
		for _, child := range slices.Sorted(maps.Keys(k.texts)) {
			if err := same(k.texts[child].String(), want); err != nil {
				return fmt.Errorf("the text of child %q %w", child, err)
			}
		}
	}
	if k.bytes != s.Fan*len(want) {
		return fmt.Errorf("the consumer got %d bytes of the children's text, want %d", k.bytes, s.Fan*len(want))
	}
	if k.parent == 0 || k.child == 0 {
		return fmt.Errorf("the consumer got %d events of the parent and %d of children, want both", k.parent, k.child)
	}
	return nil
}

// same says where two texts part.
func same(got, want string) error {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	switch {
	case got == want:
		return nil
	case at == len(got):
		return fmt.Errorf("ends after %d of %d bytes", at, len(want))
	case at == len(want):
		return fmt.Errorf("goes on after its end: %.20q", got[at:])
	}
	return fmt.Errorf("has %.20q after %d bytes, want %.20q", got[at:], at, want[at:])
}
