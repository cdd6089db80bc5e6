package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

const (
	// MinDuration is the shortest [Lease.Duration], and that of a process that does not say. A
	// server keeps the batch of a silent sender for 10 s, half as long. So nothing that a
	// stopped process has begun to send is stored after another has ended its sessions.
	MinDuration = 20 * time.Second

	// MaxDuration is the longest [Lease.Duration].
	MaxDuration = 10 * time.Minute

	// Renewal is how often a process gives a sign.
	Renewal = 3 * time.Second

	// HandOverTime is how long sessions that were handed over wait for a process that
	// resumes some. Then any process ends them.
	HandOverTime = time.Hour

	// Kept is how long a lease that is not renewed stays stored. It tells processes
	// that start later which process of this machine has ended.
	Kept = 7 * 24 * time.Hour
)

// BucketName is the bucket of the leases of all workspaces.
const BucketName = "AGENT_WORKERS"

// Lease is the sign that a process is alive, stored under its boot id.
type Lease struct {
	Worker
	Machine      string `json:"machine"`                // where PID means something
	ProcessStart uint64 `json:"processStart,omitempty"` // distinguishes the process from a later one with its PID; 0 means unknown
	Resumes      bool   `json:"takesOver,omitempty"`    // it resumes sessions of dead processes
	NoSessions   bool   `json:"noSessions,omitempty"`   // it only recovers the sessions of others
	HandsOver    bool   `json:"handsOver,omitempty"`    // it has ended in order, and its sessions wait for a process that resumes some
	Ended        bool   `json:"ended,omitempty"`        // the process has ended, and could not end all of its sessions
	ClaimedBy    string `json:"takenBy,omitempty"`      // the boot id of the process that recovers its sessions
	DurationMS   int64  `json:"durationMs,omitempty"`   // see Duration; 0 means MinDuration
}

// Duration is how long the process may be silent, while the store is available, before another
// one considers it dead.
func (l *Lease) Duration() time.Duration {
	return min(max(time.Duration(l.DurationMS)*time.Millisecond, MinDuration), MaxDuration)
}

// hasEnded reports whether the lease's process is known to have ended. local means that
// all processes of the bucket are of this machine.
func (l *Lease) hasEnded(local bool) bool {
	switch {
	case l.Ended:
		return true
	case l.PID <= 0 || l.Machine == "":
		return false
	case l.Machine == machine():
		return processEnded(l.PID, l.ProcessStart)
	}
	return local && rebooted(l.Machine, machine())
}

// rebooted reports whether a machine was started anew between two of its names.
func rebooted(before, now string) bool {
	a, b := strings.Fields(before), strings.Fields(now) // host, boot, namespace
	return len(a) == 3 && len(b) == 3 && a[1] != b[1]
}

// The errors of a [table].
var (
	errConflict = errors.New("the lease has changed meanwhile")
	errNone     = errors.New("no such lease")
)

// table stores leases by boot id.
type table interface {
	create(ctx context.Context, bootID string, data []byte) (rev uint64, err error)              // errConflict: there is one
	update(ctx context.Context, bootID string, data []byte, rev uint64) (next uint64, err error) // errConflict: rev is not stored
	get(ctx context.Context, bootID string) (data []byte, rev uint64, err error)                 // errNone
	remove(ctx context.Context, bootID string, rev uint64) error                                 // unless it has changed since rev
	watch(ctx context.Context) (changes <-chan change, err error)                                // what is stored, and what changes; until ctx ends
}

// change is one stored version of a lease.
type change struct {
	bootID string
	data   []byte
	rev    uint64 // 0 means all leases that were stored at the beginning were received
}

// Bucket holds the leases of a workspace.
type Bucket struct {
	table
	workspace string
	local     bool                      // all its processes are of this machine
	closed    func() <-chan nats.Status // tells when the connection is closed for good
	entries   func(ctx context.Context) ([]stored, error)
}

// stored is a lease in a list.
type stored struct {
	data    []byte
	silence time.Duration // since it was stored, by the clock of the store
}

// Open opens the leases of the bus's workspace.
func Open(ctx context.Context, bus *eventbus.Bus) (*Bucket, error) {
	kv, err := bus.Store().EnsureBucket(ctx, jetstream.KeyValueConfig{
		Bucket:      BucketName,
		Description: "processes that run sessions, keyed by workspace and boot id",
		History:     1,
		TTL:         Kept,
	})
	if err != nil {
		return nil, fmt.Errorf("making the bucket %s: %w", BucketName, err)
	}
	t := &kvTable{kv: kv, js: bus.JetStream(), prefix: bus.Workspace() + "."}
	return &Bucket{
		table: t, workspace: bus.Workspace(), local: bus.Health().Embedded, entries: t.entries,
		closed: func() <-chan nats.Status { return bus.Conn().StatusChanged(nats.CLOSED) },
	}, nil
}

// kvTable is a table in a key-value bucket.
type kvTable struct {
	kv     jetstream.KeyValue
	js     jetstream.JetStream
	prefix string // of the keys
}

func (t *kvTable) create(ctx context.Context, bootID string, data []byte) (uint64, error) {
	rev, err := t.kv.Create(ctx, t.prefix+bootID, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		err = errConflict
	}
	return rev, err
}

func (t *kvTable) update(ctx context.Context, bootID string, data []byte, rev uint64) (uint64, error) {
	next, err := t.kv.Update(ctx, t.prefix+bootID, data, rev)
	if eventbus.IsConflict(err) {
		err = errConflict
	}
	return next, err
}

func (t *kvTable) get(ctx context.Context, bootID string) ([]byte, uint64, error) {
	entry, err := t.kv.Get(ctx, t.prefix+bootID)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, 0, errNone
	}
	if err != nil {
		return nil, 0, err
	}
	return entry.Value(), entry.Revision(), nil
}

// remove leaves no deletion marker behind.
func (t *kvTable) remove(ctx context.Context, bootID string, rev uint64) error {
	stream, err := t.js.Stream(ctx, "KV_"+BucketName)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+BucketName+"."+t.prefix+bootID), jetstream.WithPurgeSequence(rev+1))
}

func (t *kvTable) watch(ctx context.Context) (<-chan change, error) {
	watch, err := t.kv.Watch(ctx, t.prefix+"*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	changes := make(chan change)
	go func() {
		defer close(changes)
		defer func() { _ = watch.Stop() }() // it fails if the connection is closed
		for {
			var c change
			select {
			case e, ok := <-watch.Updates():
				if !ok {
					return
				}
				if e != nil {
					c = change{strings.TrimPrefix(e.Key(), t.prefix), e.Value(), e.Revision()}
				}
			case <-ctx.Done():
				return
			}
			select {
			case changes <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	return changes, nil
}

// entries returns what is stored.
func (t *kvTable) entries(ctx context.Context) ([]stored, error) {
	stream, err := t.js.Stream(ctx, "KV_"+BucketName)
	if err != nil {
		return nil, err
	}
	now := stream.CachedInfo().TimeStamp
	watch, err := t.kv.Watch(ctx, t.prefix+"*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer func() { _ = watch.Stop() }() // it fails if the connection is closed
	var all []stored
	for {
		select {
		case e, ok := <-watch.Updates():
			if !ok {
				return nil, errors.New("the connection to the event store was closed")
			}
			if e == nil {
				return all, nil
			}
			all = append(all, stored{e.Value(), now.Sub(e.Created())})
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// newLease returns a lease of this process.
func (b *Bucket) newLease(bootID string) *Lease {
	now := time.Now().UTC()
	host, _ := os.Hostname() // for people
	return &Lease{
		Worker: Worker{
			Schema: workerSchema, BootID: bootID, Workspace: b.workspace, Host: host, PID: os.Getpid(), StartedAt: now, RenewedAt: now,
		},
		Machine: machine(), ProcessStart: processStart(os.Getpid()),
	}
}

// encode makes the JSON of a lease, whose fields all have one.
func (l *Lease) encode() []byte {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return data
}

// decode reads a lease. A lease of a later version is returned empty.
func decode(data []byte) Lease {
	var l Lease
	if json.Unmarshal(data, &l) != nil {
		return Lease{}
	}
	return l
}
