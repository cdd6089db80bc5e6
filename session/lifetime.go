package session

import (
	"context"
	"sync"
)

// lifetime is the time up to the stop or the end of a session. What is bound to
// it ends then.
type lifetime struct {
	mu    sync.Mutex
	cause error // why it is over; nil means it is not
	first *bond
}

// bond is a context that ends with a lifetime.
type bond struct {
	life       *lifetime
	ctx        context.Context
	cancel     context.CancelCauseFunc
	prev, next *bond // in life
}

// bind returns a bond whose context also ends with ctx. It is to be released.
func (l *lifetime) bind(ctx context.Context) *bond {
	b := &bond{life: l}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		b.cancel(l.cause)
		return b
	}
	if b.next = l.first; b.next != nil {
		b.next.prev = b
	}
	l.first = b
	return b
}

// release ends the bond and its context. It may be called again.
func (b *bond) release() {
	b.cancel(nil)
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	switch {
	case b.prev != nil:
		b.prev.next = b.next
	case b.life.first == b:
		b.life.first = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	}
	b.prev, b.next = nil, nil
}

// end ends the lifetime. Only the first cause counts.
func (l *lifetime) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		return
	}
	l.cause = cause
	for b := l.first; b != nil; b = b.next {
		b.cancel(cause)
	}
}

// over returns why the lifetime has ended, or nil.
func (l *lifetime) over() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}
