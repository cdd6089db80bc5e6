package agentdefs

import (
	"context"
	"sync/atomic"
)

// Registry holds the newest snapshot of a workspace. It is safe for concurrent
// use.
type Registry struct {
	current atomic.Pointer[Snapshot]
}

// Open loads the agent files of the workspace at root, as [Load] does. It wants
// Close.
func Open(ctx context.Context, root string, opts *Options) (*Registry, error) {
	s, err := load(ctx, root, opts.complete(), 1)
	if err != nil {
		return nil, err
	}
	r := new(Registry)
	r.current.Store(s)
	return r, nil
}

// Snapshot returns the newest snapshot; never nil. It stays as it is.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// Close ends what the registry does. The last snapshot can still be read. It
// may be called more than once.
func (r *Registry) Close() {}
