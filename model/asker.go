package model

import "context"

// Asker is who has a model asked.
type Asker struct{ Agent, Session string }

type askerKey struct{}

// WithAsker returns a context for the HTTP requests of a call.
func WithAsker(ctx context.Context, who Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, who)
}

// AskerOf returns who has a model asked in a context; the zero Asker means that nobody has said so.
func AskerOf(ctx context.Context) Asker {
	who, _ := ctx.Value(askerKey{}).(Asker)
	return who
}
