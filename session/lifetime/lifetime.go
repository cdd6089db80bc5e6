// Package lifetime says until when a session works. A [Life] lasts up to the session's stop
// ([Lifetime]), while its time lasts ([Clock]), and while anything happens ([Watch]). What
// ends the work is the cause of its context.
package lifetime

import (
	"context"
	"sync"
)

// Lifetime is the time up to the stop or the end of a session. Contexts that are bound to it
// end with it. It is safe for concurrent use.
type Lifetime struct {
	mu    sync.Mutex
	cause error // why it is over; nil means it is not
	first *Bond
}

// Bond is a context that ends with a lifetime.
type Bond struct {
	Cancel context.CancelCauseFunc // ends the context

	life       *Lifetime
	ctx        context.Context
	prev, next *Bond // in life
}

// Bind returns a bond whose context also ends with ctx. The caller releases it.
func (l *Lifetime) Bind(ctx context.Context) *Bond {
	b := &Bond{life: l}
	b.ctx, b.Cancel = context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		b.Cancel(l.cause)
		return b
	}
	if b.next = l.first; b.next != nil {
		b.next.prev = b
	}
	l.first = b
	return b
}

// Context ends with the lifetime, with ctx of [Lifetime.Bind], and by Cancel.
func (b *Bond) Context() context.Context { return b.ctx }

// Release ends the bond and its context. Later calls do nothing.
func (b *Bond) Release() {
	b.Cancel(nil)
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

// End ends the lifetime. Only the first cause counts.
func (l *Lifetime) End(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil {
		return
	}
	l.cause = cause
	for b := l.first; b != nil; b = b.next {
		b.Cancel(cause)
	}
}

// Over returns why the lifetime has ended, or nil.
func (l *Lifetime) Over() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}
