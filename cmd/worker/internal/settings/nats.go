package settings

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/eventbus"
)

// registerAccess registers the flags that say how to get at the server of --nats.
func (s *Settings) registerAccess(flags *pflag.FlagSet) {
	for _, f := range []struct {
		name, usage string
		path        *string
	}{
		{"nats-creds", "credentials file of a NATS user: its JWT and seed", &s.Access.Creds},
		{"nats-nkey", "file of a NATS user's nkey seed", &s.Access.NKey},
		{"nats-token-file", "file of the NATS server's token", &s.Access.TokenFile},
		{"nats-tls-ca", "PEM file of the authority that has signed the NATS server's certificate (default: the system's)", &s.Access.CA},
		{"nats-tls-cert", "PEM file of the certificate that the NATS server knows us by", &s.Access.Cert},
		{"nats-tls-key", "PEM file of that certificate's key", &s.Access.Key},
	} {
		flags.Var(file(f.path), f.name, f.usage)
	}
	flags.IntVar(&s.Replicas, "replicas", 0, "how many servers of a NATS cluster keep sessions and events: 1, 3 or 5 (default: 1 where a worker makes the streams)")
}

// checkAccess returns an error for flags of a server that do not go together.
func (s *Settings) checkAccess() error {
	switch s.Replicas {
	case 0, 1, 3, 5:
	default:
		return fmt.Errorf("replicas %d: write 1, 3 or 5", s.Replicas)
	}
	if s.NATS == "" {
		if s.Access != (eventbus.Access{}) || s.Replicas != 0 {
			return errors.New("--nats-creds and the like, and --replicas, are for the server of --nats, and that is not given")
		}
		return nil
	}
	if err := s.Access.Check(s.NATS); err != nil {
		return fmt.Errorf("--nats: %w", err)
	}
	return nil
}
