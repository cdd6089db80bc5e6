package natsstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream with lower limits drops what sessions still need, or refuses messages of the size
// that they write.
const (
	minAge     = time.Hour
	minBytes   = 64 << 20
	minMsgs    = 100_000
	minMsgSize = 64 << 10

	// A session may run for a day, and waits for approvals in between.
	safeAge = 24 * time.Hour

	// Most events and messages are smaller.
	safeMsgSize = 1 << 20
)

// Finding is one setting of a stream in an external server that workers need to
// be different.
type Finding struct {
	Stream string // its name; KV_… or OBJ_… for that of a bucket
	Wrong  string // what is wrong
	Fix    string // what to do about it: a command of the nats tool if there is one
	Fatal  bool   // events or records would be lost: the worker does not start
}

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("the stream %s %s; %s", f.Stream, f.Wrong, f.Fix)
}

// StreamError is returned for a stream that would lose what is stored in it.
type StreamError struct{ Findings []Finding }

func (e *StreamError) Error() string {
	lines := []string{"the streams there would lose events"}
	for _, f := range e.Findings {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, ": ")
}

// checkStream compares a stream that exists with the one that the worker would
// make.
func checkStream(has, want jetstream.StreamConfig) []Finding {
	var found []Finding
	note := func(fatal bool, wrong, fix string) {
		found = append(found, Finding{Stream: has.Name, Wrong: wrong, Fix: fix, Fatal: fatal})
	}
	edit := func(flags string, args ...any) string {
		return "run: nats stream edit " + has.Name + " " + fmt.Sprintf(flags, args...)
	}
	anew := fmt.Sprintf("that can't be edited: nats stream backup %s DIR, nats stream rm %s, and let a worker make it", has.Name, has.Name)

	if has.Mirror != nil {
		note(true, "is a mirror, and accepts no messages", anew)
		return found
	}
	if has.Sealed {
		note(true, "is sealed, and accepts no more messages", anew)
	}
	for _, subject := range want.Subjects {
		if !slices.ContainsFunc(has.Subjects, func(s string) bool { return covers(s, subject) }) {
			note(true, fmt.Sprintf("has the subjects %s, which do not include %s", strings.Join(has.Subjects, ", "), subject),
				edit("--subjects '%s'", strings.Join(append(slices.Clone(has.Subjects), want.Subjects...), ",")))
		}
	}
	if has.SubjectTransform != nil {
		note(true, "rewrites the subjects of what it stores", edit("--no-subject-transform, if your nats tool has that; else make it anew"))
	}
	if want.Storage == jetstream.FileStorage && has.Storage != jetstream.FileStorage {
		note(true, "is kept in memory, and is lost with its servers", anew)
	}
	if has.Retention != want.Retention {
		note(true, fmt.Sprintf("has the retention %q, which deletes messages that were read; it must be %q", has.Retention, want.Retention), anew)
	}
	if has.NoAck {
		note(true, "acknowledges nothing, so that nobody knows what it has stored", edit("--ack"))
	}
	checkLimits(has, want, note, edit)
	if want.Replicas > has.Replicas {
		note(false, fmt.Sprintf("has %d replicas, and --replicas says %d", has.Replicas, want.Replicas), edit("--replicas %d", want.Replicas))
	}
	if want.Duplicates > 0 && has.Duplicates < want.Duplicates {
		note(false, fmt.Sprintf("remembers message ids for %s only: a message that is sent again after a lost connection could be stored twice", has.Duplicates),
			edit("--dupe-window %s", want.Duplicates))
	}
	if want.AllowDirect && !has.AllowDirect {
		note(false, "allows no direct reads, so that its leader answers all of them", edit("--allow-direct"))
	}
	if want.AllowBatchPublish && !has.AllowBatchPublish {
		note(false, "accepts no batches, so that events are stored one at a time", edit("--allow-fast, with nats-server 2.14 or newer"))
	}
	if has.DenyPurge && !want.DenyPurge {
		note(false, "can't be purged: the events of a deleted session stay there", "make it anew without deny_purge")
	}
	return found
}

// checkLimits compares how much a stream keeps, and for how long.
func checkLimits(has, want jetstream.StreamConfig, note func(fatal bool, wrong, fix string), edit func(string, ...any) string) {
	age := edit("--max-age %s", cmp.Or(want.MaxAge, 30*24*time.Hour))
	switch least := cmp.Or(want.MaxAge, safeAge); {
	case has.MaxAge > 0 && has.MaxAge < min(minAge, least):
		note(true, fmt.Sprintf("drops what is older than %s", has.MaxAge), age)
	case has.MaxAge > 0 && has.MaxAge < min(safeAge, least):
		note(false, fmt.Sprintf("drops what is older than %s, and a session may run for %s", has.MaxAge, safeAge), age)
	case want.MaxAge > 0 && want.MaxAge < minAge && (has.MaxAge == 0 || has.MaxAge > want.MaxAge):
		note(false, fmt.Sprintf("keeps entries for longer than %s: expired ones are noticed late or never", want.MaxAge), age)
	}
	if has.MaxMsgsPerSubject > 0 && (want.MaxMsgsPerSubject <= 0 || has.MaxMsgsPerSubject < want.MaxMsgsPerSubject) {
		note(true, fmt.Sprintf("keeps only the last %d messages of a subject", has.MaxMsgsPerSubject),
			edit("--max-msgs-per-subject=%d", cmp.Or(want.MaxMsgsPerSubject, -1)))
	}
	full := "drops the oldest" // when the limit is reached
	if has.Discard == jetstream.DiscardNew {
		full = "refuses what is new"
	}
	if has.MaxBytes > 0 && has.MaxBytes < minBytes {
		note(true, fmt.Sprintf("%s above %d bytes", full, has.MaxBytes), edit("--max-bytes=-1, or 64MB at least"))
	}
	if has.MaxMsgs > 0 && has.MaxMsgs < minMsgs {
		note(true, fmt.Sprintf("%s above %d messages", full, has.MaxMsgs), edit("--max-msgs=-1, or %d at least", minMsgs))
	}
	if has.Discard == jetstream.DiscardNew && want.Discard != jetstream.DiscardNew && (has.MaxBytes > 0 || has.MaxMsgs > 0) {
		note(false, "refuses what is new when it is full: sessions fail then", edit("--discard old"))
	}
	size := edit("--max-msg-size=-1")
	switch {
	case has.MaxMsgSize > 0 && has.MaxMsgSize < minMsgSize:
		note(true, fmt.Sprintf("accepts no message above %d bytes", has.MaxMsgSize), size)
	case has.MaxMsgSize > 0 && has.MaxMsgSize < safeMsgSize:
		note(false, fmt.Sprintf("accepts no message above %d bytes: a larger one ends its session", has.MaxMsgSize), size)
	}
}

// covers reports whether every subject that matches inner also matches outer.
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

// bucketStream returns the configuration of the stream below a key-value bucket.
func bucketStream(cfg jetstream.KeyValueConfig) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              "KV_" + cfg.Bucket,
		Subjects:          []string{"$KV." + cfg.Bucket + ".>"},
		MaxMsgsPerSubject: max(1, int64(cfg.History)),
		MaxAge:            cfg.TTL,
		Storage:           cfg.Storage,
		Discard:           jetstream.DiscardNew,
		AllowDirect:       true,
		Metadata:          cfg.Metadata,
	}
}

// objectStream returns the configuration of the stream below an object store.
func objectStream(cfg jetstream.ObjectStoreConfig) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        "OBJ_" + cfg.Bucket,
		Subjects:    []string{"$O." + cfg.Bucket + ".C.>", "$O." + cfg.Bucket + ".M.>"},
		MaxAge:      cfg.TTL,
		Storage:     cfg.Storage,
		Discard:     jetstream.DiscardNew,
		AllowDirect: true,
		Metadata:    cfg.Metadata,
	}
}
