package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/session/store"
)

// retention is how long ended sessions are shown, and kept.
type retention struct {
	ArchiveAfter time.Duration // 0 means never
	retainAge    time.Duration // 0 means for ever
	retainSize   byteSize      // 0 means without a bound

	AuditAge  time.Duration // 0 means for ever
	auditSize byteSize      // 0 means without a bound
}

func (r *retention) register(flags *pflag.FlagSet) {
	flags.DurationVar(&r.ArchiveAfter, "archive-after", time.Hour, "how long after its end a session is archived, and lists leave it out; 0: never")
	flags.DurationVar(&r.retainAge, "retain-age", 30*24*time.Hour, "how long after its end a session is kept; 0: for ever")
	flags.Var(&r.retainSize, "retain-size", "how much the sessions of the embedded store may take, for example 2G: those that ended first are deleted (default: no bound)")
	r.auditSize = 256 << 20
	flags.DurationVar(&r.AuditAge, "audit-age", 0, "how long a record of the audit log is kept; 0: for ever")
	flags.Var(&r.auditSize, "audit-size", "how much the audit log keeps: beyond that the oldest records are taken out; 0: all")
}

// AuditBytes is how much the audit log keeps; 0 means all.
func (r *retention) AuditBytes() uint64 { return uint64(r.auditSize) }

// Retained is what a session store is to keep.
func (r *retention) Retained() store.Retention {
	return store.Retention{Age: r.retainAge, Bytes: uint64(r.retainSize)}
}

// EventAge is how long events are kept, of whatever they are; 0 means for ever. A
// session may run for a day, and is kept from its end on.
func (r *retention) EventAge() time.Duration {
	if r.retainAge == 0 {
		return 0
	}
	return r.retainAge + 24*time.Hour
}

func (r *retention) check() error {
	switch {
	case r.ArchiveAfter < 0:
		return fmt.Errorf("archive-after %s is below 0", r.ArchiveAfter)
	case r.retainAge < 0 || r.retainAge > 0 && r.retainAge < time.Minute:
		return fmt.Errorf("retain-age %s is neither 0 nor a minute or more", r.retainAge)
	case r.AuditAge < 0 || r.AuditAge > 0 && r.AuditAge < time.Hour:
		return fmt.Errorf("audit-age %s is neither 0 nor an hour or more", r.AuditAge)
	case r.auditSize > 0 && r.auditSize < 1<<20:
		return fmt.Errorf("audit-size %s is neither 0 nor 1M or more", &r.auditSize)
	}
	return nil
}

// byteSize is a number of bytes, as a flag with K, M, G or T for powers of 1024.
type byteSize uint64

const sizeUnits = "KMGT"

// Set implements [pflag.Value].
func (b *byteSize) Set(text string) error {
	number, shift := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text)), "B"), 0
	if number != "" {
		if i := strings.IndexByte(sizeUnits, number[len(number)-1]); i >= 0 {
			number, shift = number[:len(number)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n<<shift>>shift != n {
		return errors.New("not a size: write bytes, or 500M, 2G")
	}
	*b = byteSize(n << shift)
	return nil
}

// String implements [pflag.Value].
func (b *byteSize) String() string {
	n, unit := uint64(*b), ""
	for i := 0; i < len(sizeUnits) && n > 0 && n%1024 == 0; i++ {
		n, unit = n/1024, sizeUnits[i:i+1]
	}
	return strconv.FormatUint(n, 10) + unit
}

// Type implements [pflag.Value].
func (b *byteSize) Type() string { return "size" }
