// Package wire has the messages between the worker and the helper inside of a sandbox. They are
// gob documents, with names as bytes, on private sockets.
package wire

import (
	"bytes"
	"encoding/gob"
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

// AskFD is an init's descriptor of the socket on which it asks, and reads the answers.
const AskFD = 4

// Holder is the first document on a holder's socket.
type Holder struct {
	IDs      *IDs // nil means they are mapped already
	Overlays []Overlay
	Proxy    bool // listen on loopback for the proxy, and send the listener
}

// IDs are the user and the group that are mapped to themselves.
type IDs struct{ User, Group int }

// Overlay is a folder of which the session has a copy on write.
type Overlay struct {
	Lower, Upper, Work, Merged string
}

// Held is the holder's answer to [Holder].
type Held struct {
	Error    string
	Overlaid []bool // by overlay: whether it could be mounted
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
	OpPin     Op = "pin"  // Target cannot be moved or removed
	OpLink    Op = "link" // the same for a symlink, whose text is Source
)

// Mount is one step of building what a command sees. Target is absolute.
type Mount struct {
	Op     Op
	Source string
	Target string
	// Optional: nothing happens if Source is not there.
	Optional bool
	// Own: Source is the session's own.
	Own bool
	// As is what a hidden file looks like, or what is in a hidden folder. Without it a file
	// is a device, and a folder can't be opened.
	As []Placeholder
}

// Placeholder is a regular file without content, which can't be opened. Git takes it for a file of
// its index.
type Placeholder struct {
	Path       string // below the folder that is hidden; empty means the file itself
	Size       int64
	Modified   int64 // in nanoseconds since 1970
	Executable bool
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

	// Watched are folders in which a file that has changed since Planned is judged when
	// it is opened. Planned is in nanoseconds since 1970.
	Watched []string
	Planned int64

	// Datagrams: there are unix sockets of datagrams, and the supervisor judges where each goes.
	Datagrams bool

	// NoInternet refuses sockets other than local ones, where there is no
	// network namespace.
	NoInternet bool

	Limits []Limit

	Terminal bool // stdin is a terminal, which controls the command

	// Unheld: nothing of the above holds the command. It is only ended with all
	// that it has started.
	Unheld bool
}

// Limit is a resource limit.
type Limit struct {
	Resource int
	Value    uint64
}

// Message is what goes over the sockets of a command after the job.
//
// From the helper: Started, Exited or Error, and on the socket for it Ask or Done; from the worker: Signal, and there
// Answer.
type Message struct {
	Kind string

	Ask    *Ask
	Errno  int  // of an answer: 0 is yes
	Reads  bool // of an answer that is yes: a regular file at Ask.New may be read, too
	Status int  // of exited: the wait status
	Signal int
	Error  string
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

// Ask is a change of the names or files in a judged folder, or a socket that a command has bound or wants
// to reach. Paths are real ones, without symlinks. Only the last element may be one.
type Ask struct {
	Op  string // read, open, change, make, symlink, link, rename, exchange, bound, connect, pipe
	Old string // of link, rename, exchange
	New string

	Socket Socket // of bound, connect, pipe
}

// Socket tells the file of a socket from all others that there were.
type Socket struct {
	Device, Inode uint64
	Born          int64 // in nanoseconds since 1970; 0 where the file system does not keep it
}

// Spawn asks the holder for an init. Its descriptors are stdin, stdout,
// stderr, and the two sockets of the command.
type Spawn struct{ Number int }

// Spawned is the answer to the question with that number. A pidfd comes with it
// unless Error is set.
type Spawned struct {
	Number int
	Error  string
}

// Conn is a stream of documents. One goroutine reads, and one at a time writes.
type Conn struct {
	enc *gob.Encoder
	dec *gob.Decoder
}

// NewConn returns the stream on a socket.
func NewConn(rw io.ReadWriter) *Conn { return &Conn{gob.NewEncoder(rw), gob.NewDecoder(rw)} }

// Write sends v.
func (c *Conn) Write(v any) error { return c.enc.Encode(v) }

// Read receives a document into v. io.EOF: the other end is closed.
func (c *Conn) Read(v any) error { return c.dec.Decode(v) }

// Pack returns v as a packet of its own.
func Pack(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// Unpack reads a packet into v.
func Unpack(packet []byte, v any) error { return gob.NewDecoder(bytes.NewReader(packet)).Decode(v) }
