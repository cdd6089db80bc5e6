package settings

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/internal/errtext"
)

// span is the range of a time.
type span struct {
	least, most time.Duration
	zero        bool // 0 is a value, too
}

// upToDay is the range of most times.
var upToDay = span{time.Second, 24 * time.Hour, false}

// orZero is the same range, with 0.
func (s span) orZero() span { return span{s.least, s.most, true} }

// times are the flags with a time in a range.
type times []timeFlag

type timeFlag struct {
	name  string
	value *time.Duration
	span  span
}

// add adds a flag to a group, with the range of its values.
func (t *times) add(flags *pflag.FlagSet, to *time.Duration, name string, otherwise time.Duration, in span, help string) {
	flags.DurationVar(to, name, otherwise, help)
	*t = append(*t, timeFlag{name, to, in})
}

func (t *times) check() error {
	for _, f := range *t {
		value, in := *f.value, f.span
		if (value < in.least || value > in.most) && !(in.zero && value == 0) {
			return fmt.Errorf("%s %s is not within %s and %s", f.name, errtext.Duration(value), errtext.Duration(in.least), errtext.Duration(in.most))
		}
	}
	return nil
}
