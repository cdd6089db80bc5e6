package settings

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/session/retention"
)

// retentionFlags is how long ended sessions are shown, and how much is kept.
type retentionFlags struct {
	ArchiveAfter time.Duration // 0 means never
	retainAge    time.Duration // 0 means for ever
	retainSize   size          // 0 means without a bound

	AuditAge  time.Duration // 0 means for ever
	auditSize size          // 0 means without a bound

	StoreSync eventbus.Sync // how much a power cut may take from the embedded store
}

func (r *retentionFlags) register(flags *pflag.FlagSet) {
	r.auditSize, r.StoreSync = 256<<20, eventbus.Sync{Interval: 10 * time.Second}
	flags.DurationVar(&r.ArchiveAfter, "archive-after", time.Hour, "how long after its end a session is archived, and lists leave it out; 0: never")
	flags.DurationVar(&r.retainAge, "retain-age", 30*24*time.Hour, "how long after its end a session is kept; 0: for ever")
	flags.Var(sizeValue(&r.retainSize), "retain-size", "how much the sessions of the embedded store may take, for example 2G: those that ended first are deleted (default: no bound)")
	flags.DurationVar(&r.AuditAge, "audit-age", 0, "how long a record of the audit log is kept; 0: for ever")
	flags.Var(sizeValue(&r.auditSize), "audit-size", "how much the audit log keeps: beyond that the oldest records are removed; 0: all")
	sync := parsed(&r.StoreSync, "duration|always", parseSync)
	sync.show = func() string {
		if r.StoreSync.Always {
			return always
		}
		return errtext.Duration(r.StoreSync.Interval)
	}
	flags.Var(sync, "sync", "how much of what the embedded store has acknowledged a power cut may lose, 100ms to 2m, or always: nothing, at the price of a slower store")
}

// always is the value of --sync with which a power cut loses nothing.
const always = "always"

func parseSync(text string) (eventbus.Sync, error) {
	if text == always {
		return eventbus.Sync{Always: true}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 100*time.Millisecond || d > 2*time.Minute {
		return eventbus.Sync{}, errors.New("write always, or a time within 100ms and 2m")
	}
	return eventbus.Sync{Interval: d}, nil
}

// AuditBytes is how much the audit log keeps; 0 means all.
func (r *retentionFlags) AuditBytes() uint64 { return uint64(r.auditSize) }

// Retained is what a session store keeps.
func (r *retentionFlags) Retained() retention.Limits {
	return retention.Limits{Age: r.retainAge, Bytes: uint64(r.retainSize)}
}

// EventAge is how long any event is kept; 0 means for ever. A session may run for a day, and
// is kept from its end on.
func (r *retentionFlags) EventAge() time.Duration {
	if r.retainAge == 0 {
		return 0
	}
	return r.retainAge + 24*time.Hour
}

func (r *retentionFlags) check() error {
	switch {
	case r.ArchiveAfter < 0:
		return fmt.Errorf("archive-after %s is below 0", r.ArchiveAfter)
	case r.retainAge < 0 || r.retainAge > 0 && r.retainAge < time.Minute:
		return fmt.Errorf("retain-age %s is neither 0 nor a minute or more", r.retainAge)
	case r.AuditAge < 0 || r.AuditAge > 0 && r.AuditAge < time.Hour:
		return fmt.Errorf("audit-age %s is neither 0 nor an hour or more", r.AuditAge)
	case r.auditSize > 0 && r.auditSize < 1<<20:
		return fmt.Errorf("audit-size %s is neither 0 nor 1M or more", r.auditSize)
	}
	return nil
}
