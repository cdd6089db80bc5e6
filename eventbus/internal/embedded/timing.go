package embedded

import "time"

// minRoom is how many bytes the disk must take before a store that has failed is
// opened anew: enough for what is waiting.
const minRoom = 1 << 20

// The election of the leader, in one state folder on one machine.
const (
	// electionInterval is how often a process without a store tries to become the
	// leader, and how often its connection looks for the current one. It is short
	// because all work waits for it, and a try costs only a file lock and a small
	// file. See BenchmarkTakeover and BenchmarkJoin.
	electionInterval = 10 * time.Millisecond

	// leaderTimeout is how long Open waits for a leader that does not answer. A
	// server starts on a large store in about a second. The limit is short because
	// a user may be waiting.
	leaderTimeout = 5 * time.Second

	// openPause is the pause after the server could not be started, or has failed,
	// and doubles with each failure up to maxOpenPause. Each try reads the store's
	// folder, and a broken or full disk does not mend in milliseconds. Those who
	// wait give up after 10 s.
	openPause    = 250 * time.Millisecond
	maxOpenPause = 2 * time.Second

	// steadyTime is how long a server must have run for its failure to count as
	// the first one.
	steadyTime = 10 * time.Second

	// StoppedTimeout is how long operations wait for a leader that is stopped, for
	// instance by Ctrl-Z. No other process can take its lock, and the user may
	// continue it. stoppedInterval is how often they check whether it is still
	// stopped.
	StoppedTimeout  = time.Hour
	stoppedInterval = 500 * time.Millisecond

	// watchInterval is how often a process looks whether its store folder is still
	// where it was, and whether the leader is stopped: one stat, and two small
	// files.
	watchInterval = time.Second

	// contentsTimeout is how long the server may take to say what a stream has, with
	// millions of messages deleted and a busy machine. Nobody waits for it but a store
	// that closes.
	contentsTimeout = 5 * time.Second

	// stuckTimeout is how long the server may take to say which streams it has, which it
	// knows; and closeTimeout how long to stop. The second takes 0.4 s with 100,000
	// sessions. Both leave room for a machine with far too much to do.
	stuckTimeout = 30 * time.Second
	closeTimeout = 30 * time.Second

	// roomInterval is for how long a disk counts as one with room that had some.
	roomInterval = time.Second

	// dialTimeout bounds one connection to the leader: it is on this machine, and
	// the next try asks for its address again.
	dialTimeout = time.Second

	// requestInterval is how often the leader looks for requests where the folder
	// can't be watched, or where answering one failed. It is well below
	// leaderTimeout.
	requestInterval = 250 * time.Millisecond

	// DefaultSync is how much a power cut may lose, as docs/reference/events.md
	// promises. A killed process loses nothing: what is acknowledged has been
	// handed to the kernel. The server's default is 2 minutes.
	DefaultSync = 10 * time.Second
)
