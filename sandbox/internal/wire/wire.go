// Package wire holds what the worker and the helper inside of a sandbox tell
// each other: JSON documents on sockets that nothing else holds.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Arg is the first argument of the worker's binary that makes it the helper;
// the second is a [Role].
const Arg = "__sandbox"

// Role says what a helper is.
type Role string

const (
	// RoleHolder is the first process of a session's sandbox: it holds the
	// user, network and process namespaces, and starts a RoleInit for every
	// command.
	RoleHolder Role = "holder"
	// RoleInit is process 1 of one command.
	RoleInit Role = "init"
	// RoleInner is a helper without namespaces.
	RoleInner Role = "inner"
)

// SocketFD is the helper's descriptor of its socket: that of a holder keeps
// packets apart, that of an init and an inner helper is a stream of frames.
const SocketFD = 3

// Holder is the first document on a holder's socket.
type Holder struct {
	IDs      *IDs      `json:",omitempty"` // nil means they are mapped already
	Overlays []Overlay `json:",omitempty"`
	Proxy    bool      `json:",omitempty"` // listen on loopback for the proxy, and send the listener
}

// IDs are the user and the group that are mapped to themselves.
type IDs struct{ User, Group int }

// Overlay is a folder of which the session has a copy on write.
type Overlay struct {
	Lower, Upper, Work, Merged string
}

// Held is the holder's answer to [Holder].
type Held struct {
	Error    string `json:",omitempty"`
	Overlaid []bool `json:",omitempty"` // by overlay: whether it could be mounted
}

// Op is what a [Mount] does.
type Op string

const (
	OpDir     Op = "dir"     // an empty folder
	OpSymlink Op = "symlink" // Source is its text
	OpRead    Op = "read"    // Source and all below it, read only
	OpWrite   Op = "write"   // Source and all below it
	OpFreeze  Op = "freeze"  // Target becomes read-only, and cannot be moved
	OpHide    Op = "hide"    // Target cannot be opened
	OpTmpfs   Op = "tmpfs"   // an empty, private folder
	OpProc    Op = "proc"
	OpDev     Op = "dev"
	OpPin     Op = "pin" // Target cannot be moved or removed
)

// Mount is one step of building what a command sees. Target is absolute.
type Mount struct {
	Op     Op
	Source string `json:",omitempty"`
	Target string
	// Optional: nothing happens if Source is not there.
	Optional bool `json:",omitempty"`
}

// Job is the first document on the socket of an init or inner helper.
type Job struct {
	Args   []string
	Env    []string
	Dir    string
	Mounts []Mount

	// Read and Write are the folders for the second wall, Landlock.
	Read, Write []string
	Landlock    bool

	// Judged are folders in which the worker is asked before a name is made.
	// Free are those in which all may be made. Supervise: the filter is on.
	Judged, Free []string
	Supervise    bool

	// NoInternet refuses sockets other than local ones, where there is no
	// network namespace.
	NoInternet bool

	Limits []Limit

	// Unheld: nothing of the above holds the command. It is only ended with all
	// that it has started.
	Unheld bool
}

// Limit is a resource limit.
type Limit struct {
	Resource int
	Value    uint64
}

// Message is what goes over the socket of a command after the job.
//
// From the helper: Started, Ask, Done, Exited or Error; from the worker: Answer
// or Signal.
type Message struct {
	Kind string

	Ask    *Ask   `json:",omitempty"`
	Errno  int    `json:",omitempty"` // of an answer: 0 is yes
	Status int    `json:",omitempty"` // of exited: the wait status
	Signal int    `json:",omitempty"`
	Error  string `json:",omitempty"`
}

// The kinds of [Message].
const (
	KindStarted = "started"
	KindAsk     = "ask"
	KindDone    = "done"
	KindExited  = "exited"
	KindError   = "error"
	KindAnswer  = "answer"
	KindSignal  = "signal"
)

// Ask is a change of the names in a judged folder. Paths are real ones, without
// symlinks. Only the last element may be one.
type Ask struct {
	Op  string // open, make, symlink, link, rename, exchange
	Old string `json:",omitempty"` // of link, rename, exchange
	New string
}

// Spawn asks the holder for an init. Its descriptors are stdin, stdout,
// stderr, and the socket of the command.
type Spawn struct{ Number int }

// Spawned is the answer to the question with that number. A pidfd comes with it
// unless Error is set.
type Spawned struct {
	Number int
	Error  string `json:",omitempty"`
}

// maxFrame bounds a document in bytes.
const maxFrame = 64 << 20

// Write sends v as a frame: its length in four bytes, and JSON.
func Write(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := make([]byte, 4, 4+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	_, err = w.Write(append(frame, body...))
	return err
}

// Read receives a frame into v. io.EOF: the other end is closed.
func Read(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return fmt.Errorf("a document of %d bytes, more than %d", n, maxFrame)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}
