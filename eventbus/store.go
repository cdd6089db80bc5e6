package eventbus

import (
	"github.com/agentworker/worker/eventbus/internal/embedded"
	"github.com/agentworker/worker/eventbus/internal/natsstore"
	"github.com/agentworker/worker/eventbus/internal/storefiles"
)

// Access holds the credentials for an external server, all as paths of files.
type Access = natsstore.Access

// Sync says when the embedded store has the disk keep what it has written.
type Sync = embedded.Sync

// Store is a connection to the store.
type Store = natsstore.Store

// Health is what is known of the store at one moment.
type Health = natsstore.Health

// Election is a process's part in running the embedded store.
type Election = embedded.Election

// Finding is one setting of a stream in an external server that workers need to
// be different.
type Finding = natsstore.Finding

// Loss is a range of messages that the embedded store has lost, because files of it
// were damaged.
type Loss = storefiles.Loss

// Message is a message as a stream has it. Its readers share it, and must not
// change it.
type Message = natsstore.Message

// Write is a message that is stored if nobody else has changed its subject.
type Write = natsstore.Write

// WriteResult says what became of a [Write].
type WriteResult = natsstore.Result

// StreamError is returned for a stream that would lose what is stored in it.
type StreamError = natsstore.StreamError

var (
	// ErrLost is returned by every operation after the server has closed the
	// connection for good.
	ErrLost = natsstore.ErrLost

	// ErrMoved is returned by every operation after the folder of the embedded store
	// was removed, or replaced by another one.
	ErrMoved = embedded.ErrMoved

	// ErrAway is returned, with the cause, by an operation whose wait for the store has
	// timed out.
	ErrAway = natsstore.ErrAway

	// ErrNoLeader is returned if another process has the store open but can't be
	// reached.
	ErrNoLeader = embedded.ErrNoLeader
)

// IsConflict reports whether a write was refused because the stored value has
// changed in the meantime.
func IsConflict(err error) bool { return natsstore.IsConflict(err) }

// IsTransient reports whether what has failed with err may succeed when it is repeated.
// It may have been carried out.
func IsTransient(err error) bool { return natsstore.Transient(err) }
