package eventbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// Below these a stream drops what sessions still need, or takes nothing of
	// the size that they write.
	leastAge     = time.Hour
	leastBytes   = 64 << 20
	leastMsgs    = 100_000
	leastMsgSize = 64 << 10

	// A session may run for a day (and wait for approvals in between).
	safeAge = 24 * time.Hour

	// safeMsgSize is what events and messages are kept below.
	safeMsgSize = 1 << 20
)

// Finding is one thing about a stream of an external server that is not as
// workers need it.
type Finding struct {
	Stream string // or the stream below a bucket: KV_…
	Wrong  string // what is wrong
	Fix    string // what to do about it, a command of the nats tool if there is one
	Fatal  bool   // events or records would be lost: the worker does not start
}

// String says it in one line.
func (f Finding) String() string {
	return fmt.Sprintf("the stream %s %s; %s", f.Stream, f.Wrong, f.Fix)
}

// UnfitError is returned for streams that would lose what is stored there.
type UnfitError struct{ Findings []Finding }

func (e *UnfitError) Error() string {
	lines := []string{"the streams there would lose events"}
	for _, f := range e.Findings {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, ": ")
}

// Findings returns what the streams and buckets of an external server have that
// is not as it should be, and no reason not to start.
func (b *Bus) Findings() []Finding {
	b.findingsMu.Lock()
	defer b.findingsMu.Unlock()
	return slices.Clone(b.findings)
}

// EnsureStream makes a stream. In a server that is not ours it gets the
// replicas asked for; one that is there stays as its operator has set it up, and
// is refused with an [*UnfitError] where it would lose what is stored in it.
// What else is wrong with it is told by [Bus.Findings].
func (b *Bus) EnsureStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	cfg.Replicas = b.replicasOf(cfg.Replicas)
	return ensured(ctx, b, cfg,
		func(ctx context.Context) (jetstream.Stream, error) { return b.js.Stream(ctx, cfg.Name) },
		func(ctx context.Context) (jetstream.Stream, error) { return b.js.CreateOrUpdateStream(ctx, cfg) })
}

// EnsureBucket makes a key-value bucket, like [Bus.EnsureStream].
func (b *Bus) EnsureBucket(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	cfg.Replicas = b.replicasOf(cfg.Replicas)
	return ensured(ctx, b, bucketStream(cfg),
		func(ctx context.Context) (jetstream.KeyValue, error) { return b.js.KeyValue(ctx, cfg.Bucket) },
		func(ctx context.Context) (jetstream.KeyValue, error) { return b.js.CreateOrUpdateKeyValue(ctx, cfg) })
}

// EnsureObjects makes an object store, like [Bus.EnsureStream].
func (b *Bus) EnsureObjects(ctx context.Context, cfg jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	cfg.Replicas = b.replicasOf(cfg.Replicas)
	return ensured(ctx, b, objectStream(cfg),
		func(ctx context.Context) (jetstream.ObjectStore, error) { return b.js.ObjectStore(ctx, cfg.Bucket) },
		func(ctx context.Context) (jetstream.ObjectStore, error) {
			return b.js.CreateOrUpdateObjectStore(ctx, cfg)
		})
}

// replicasOf returns how many replicas something gets that the bus makes. 0: as
// the server has it.
func (b *Bus) replicasOf(asked int) int {
	if b.Embedded() {
		return asked
	}
	return cmp.Or(asked, b.replicas)
}

// ensured opens what is kept in the stream want, or makes it. In a server that is
// not ours a stream that is there is checked, and left as it is.
func ensured[T any](ctx context.Context, b *Bus, want jetstream.StreamConfig, open, create func(context.Context) (T, error)) (T, error) {
	var got T
	err := b.ensure(ctx, func(ctx context.Context) (err error) {
		if !b.Embedded() {
			has, err := b.js.Stream(ctx, want.Name)
			if err == nil {
				if got, err = open(ctx); err == nil {
					err = b.check(has.CachedInfo().Config, want)
				}
				return err
			}
			if !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
		}
		got, err = create(ctx)
		return err
	})
	return got, err
}

// ensure calls f, again while a cluster has no leader.
func (b *Bus) ensure(ctx context.Context, f func(context.Context) error) error {
	if b.Embedded() {
		return f(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	silent := time.Now().Add(silence)
	err := retry(ctx, func(ctx context.Context) error {
		err := f(ctx)
		if errors.Is(err, nats.ErrNoResponders) && time.Now().After(silent) {
			return errNoJetStream
		}
		return err
	})
	if last := b.conn.LastError(); err != nil && Transient(err) && last != nil {
		err = fmt.Errorf("%w (%w)", err, last) // that a request is not permitted is said on the side
	}
	return explainStore(err)
}

// check compares a stream that is there with the one that we would make, notes
// what is wrong, and returns an [*UnfitError] where it would lose something.
func (b *Bus) check(has, want jetstream.StreamConfig) error {
	want.Replicas = cmp.Or(want.Replicas, b.replicas)
	var fatal []Finding
	for _, f := range fitness(has, want) {
		if f.Fatal {
			fatal = append(fatal, f)
			continue
		}
		b.findingsMu.Lock()
		if !slices.Contains(b.findings, f) {
			b.findings = append(b.findings, f)
		}
		b.findingsMu.Unlock()
	}
	if len(fatal) > 0 {
		return &UnfitError{fatal}
	}
	return nil
}

// fitness says what is wrong with a stream that is there in place of want.
func fitness(has, want jetstream.StreamConfig) []Finding {
	var found []Finding
	note := func(fatal bool, wrong, fix string) {
		found = append(found, Finding{Stream: has.Name, Wrong: wrong, Fix: fix, Fatal: fatal})
	}
	edit := func(flags string, args ...any) string {
		return "run: nats stream edit " + has.Name + " " + fmt.Sprintf(flags, args...)
	}
	anew := fmt.Sprintf("that can't be edited: nats stream backup %s DIR, nats stream rm %s, and let a worker make it", has.Name, has.Name)

	if has.Mirror != nil {
		note(true, "is a mirror, and takes nothing itself", anew)
		return found
	}
	if has.Sealed {
		note(true, "is sealed, and takes nothing any more", anew)
	}
	for _, subject := range want.Subjects {
		if !slices.ContainsFunc(has.Subjects, func(s string) bool { return covers(s, subject) }) {
			note(true, fmt.Sprintf("has the subjects %s, and %s is not among them", strings.Join(has.Subjects, ", "), subject),
				edit("--subjects '%s'", strings.Join(append(slices.Clone(has.Subjects), want.Subjects...), ",")))
		}
	}
	if has.SubjectTransform != nil {
		note(true, "changes the subjects of what it stores", edit("--no-subject-transform, if your nats tool has that; else make it anew"))
	}
	if want.Storage == jetstream.FileStorage && has.Storage != jetstream.FileStorage {
		note(true, "is kept in memory, and lost with its servers", anew)
	}
	if has.Retention != want.Retention {
		note(true, fmt.Sprintf("has the retention %q, which deletes what was read; it must be %q", has.Retention, want.Retention), anew)
	}
	if has.NoAck {
		note(true, "acknowledges nothing, so that nobody knows what is stored", edit("--ack"))
	}
	checkLimits(has, want, note, edit)
	if want.Replicas > has.Replicas {
		note(false, fmt.Sprintf("has %d replicas, and --replicas says %d", has.Replicas, want.Replicas), edit("--replicas %d", want.Replicas))
	}
	if want.Duplicates > 0 && has.Duplicates < want.Duplicates {
		note(false, fmt.Sprintf("remembers message ids for %s: what is sent again after a lost connection could be stored twice", has.Duplicates),
			edit("--dupe-window %s", want.Duplicates))
	}
	if want.AllowDirect && !has.AllowDirect {
		note(false, "allows no direct reads, so that its leader answers them all", edit("--allow-direct"))
	}
	if has.DenyPurge && !want.DenyPurge {
		note(false, "can't be purged: deleting a session leaves its events there", "make it anew without deny_purge")
	}
	return found
}

// checkLimits looks at how much of it, and for how long, a stream keeps.
func checkLimits(has, want jetstream.StreamConfig, note func(fatal bool, wrong, fix string), edit func(string, ...any) string) {
	age := edit("--max-age %s", cmp.Or(want.MaxAge, 30*24*time.Hour))
	switch least := cmp.Or(want.MaxAge, safeAge); {
	case has.MaxAge > 0 && has.MaxAge < min(leastAge, least):
		note(true, fmt.Sprintf("drops what is older than %s", has.MaxAge), age)
	case has.MaxAge > 0 && has.MaxAge < min(safeAge, least):
		note(false, fmt.Sprintf("drops what is older than %s, and a session may run for %s", has.MaxAge, safeAge), age)
	case want.MaxAge > 0 && want.MaxAge < leastAge && (has.MaxAge == 0 || has.MaxAge > want.MaxAge):
		note(false, fmt.Sprintf("keeps entries longer than %s: what has gone is recognised late or never", want.MaxAge), age)
	}
	if has.MaxMsgsPerSubject > 0 && (want.MaxMsgsPerSubject <= 0 || has.MaxMsgsPerSubject < want.MaxMsgsPerSubject) {
		note(true, fmt.Sprintf("keeps only the last %d messages of a subject", has.MaxMsgsPerSubject),
			edit("--max-msgs-per-subject=%d", cmp.Or(want.MaxMsgsPerSubject, -1)))
	}
	full := "drops the oldest" // when the limit is reached
	if has.Discard == jetstream.DiscardNew {
		full = "refuses what is new"
	}
	if has.MaxBytes > 0 && has.MaxBytes < leastBytes {
		note(true, fmt.Sprintf("%s above %d bytes", full, has.MaxBytes), edit("--max-bytes=-1, or 64MB at least"))
	}
	if has.MaxMsgs > 0 && has.MaxMsgs < leastMsgs {
		note(true, fmt.Sprintf("%s above %d messages", full, has.MaxMsgs), edit("--max-msgs=-1, or %d at least", leastMsgs))
	}
	if has.Discard == jetstream.DiscardNew && want.Discard != jetstream.DiscardNew && (has.MaxBytes > 0 || has.MaxMsgs > 0) {
		note(false, "refuses what is new when it is full: sessions fail then", edit("--discard old"))
	}
	size := edit("--max-msg-size=-1")
	switch {
	case has.MaxMsgSize > 0 && has.MaxMsgSize < leastMsgSize:
		note(true, fmt.Sprintf("takes no message above %d bytes", has.MaxMsgSize), size)
	case has.MaxMsgSize > 0 && has.MaxMsgSize < safeMsgSize:
		note(false, fmt.Sprintf("takes no message above %d bytes: larger ones end their session", has.MaxMsgSize), size)
	}
}

// covers reports whether every subject that matches inner matches outer.
func covers(outer, inner string) bool {
	o, i := strings.Split(outer, "."), strings.Split(inner, ".")
	for n, token := range o {
		switch {
		case token == ">":
			return n < len(i)
		case n >= len(i) || i[n] == ">":
			return false
		case token != "*" && token != i[n]:
			return false
		}
	}
	return len(o) == len(i)
}

// bucketStream returns the stream that a bucket is made of.
func bucketStream(cfg jetstream.KeyValueConfig) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              "KV_" + cfg.Bucket,
		Subjects:          []string{"$KV." + cfg.Bucket + ".>"},
		MaxMsgsPerSubject: max(1, int64(cfg.History)),
		MaxAge:            cfg.TTL,
		Storage:           cfg.Storage,
		Discard:           jetstream.DiscardNew,
		AllowDirect:       true,
	}
}

// objectStream returns the stream that an object store is made of.
func objectStream(cfg jetstream.ObjectStoreConfig) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        "OBJ_" + cfg.Bucket,
		Subjects:    []string{"$O." + cfg.Bucket + ".C.>", "$O." + cfg.Bucket + ".M.>"},
		MaxAge:      cfg.TTL,
		Storage:     cfg.Storage,
		Discard:     jetstream.DiscardNew,
		AllowDirect: true,
	}
}
