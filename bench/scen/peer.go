package scen

import (
	"context"
	"fmt"
)

// Agents are a parent and its child as a peer has built them. They run many
// times, also at once.
type Agents interface {
	// Run is one message of the user. It returns when the parent has answered and
	// k has got all events.
	Run(ctx context.Context, k *Sink) (final string, err error)
	Close() error
}

// RunFunc are agents that hold nothing to be closed.
type RunFunc func(ctx context.Context, k *Sink) (string, error)

// Run calls f.
func (f RunFunc) Run(ctx context.Context, k *Sink) (string, error) { return f(ctx, k) }

// Close does nothing.
func (RunFunc) Close() error { return nil }

// Peer builds the agents of a script.
type Peer func(s *Script) (Agents, error)

// Once runs agents once, and checks what came of it.
func Once(ctx context.Context, a Agents, s *Script, k *Sink) error {
	final, err := a.Run(ctx, k)
	if err != nil {
		return err
	}
	if final != s.Final() {
		return fmt.Errorf("the run ended with %q, want %q", final, s.Final())
	}
	return k.Check(s)
}
