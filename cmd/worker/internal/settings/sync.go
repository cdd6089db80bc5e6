package settings

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/errtext"
)

// always is the value of --sync for which a power cut loses nothing.
const always = "always"

// storeSync is --sync: how much a power cut may take from the embedded store.
type storeSync eventbus.Sync

func (s *storeSync) register(flags *pflag.FlagSet) {
	s.Interval = 10 * time.Second
	flags.Var(s, "sync", "how much of what the embedded store has acknowledged a power cut may lose, 100ms to 2m, or always: nothing, at the price of a slower store")
}

// Set implements [pflag.Value].
func (s *storeSync) Set(text string) error {
	if text == always {
		*s = storeSync{Always: true}
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 100*time.Millisecond || d > 2*time.Minute {
		return errors.New("write always, or a time within 100ms and 2m")
	}
	*s = storeSync{Interval: d}
	return nil
}

// String implements [pflag.Value].
func (s *storeSync) String() string {
	switch {
	case s.Always:
		return always
	case s.Interval == 0: // the zero value, which pflag compares defaults with
		return ""
	}
	return errtext.Duration(s.Interval)
}

// Type implements [pflag.Value].
func (s *storeSync) Type() string { return "duration|always" }

// StoreSync says how much a power cut may take from the embedded store.
func (s *Settings) StoreSync() eventbus.Sync { return eventbus.Sync(s.storeSync) }
