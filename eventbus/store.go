package eventbus

import (
	"github.com/agentworker/worker/eventbus/internal/embedded"
	"github.com/agentworker/worker/eventbus/internal/natsstore"
)

// Access holds the credentials for an external server, all as paths of files.
type Access = natsstore.Access

// Sync says when the embedded store has the disk keep what it has written.
type Sync = embedded.Sync

// Finding is one setting of a stream in an external server that workers need to
// be different.
type Finding = natsstore.Finding

// StreamError is returned for a stream that would lose what is stored in it.
type StreamError = natsstore.StreamError

var (
	// ErrLost is returned by every operation after the server has closed the
	// connection for good.
	ErrLost = natsstore.ErrLost

	// ErrNoLeader is returned if another process has the store open but can't be
	// reached.
	ErrNoLeader = embedded.ErrNoLeader
)

// IsConflict reports whether a write was refused because the stored value has
// changed in the meantime.
func IsConflict(err error) bool { return natsstore.IsConflict(err) }
