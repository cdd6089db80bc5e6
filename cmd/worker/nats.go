package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/eventbus"
)

// registerAccess registers the flags that say how to get at the server of --nats.
func (s *settings) registerAccess(flags *pflag.FlagSet) {
	for _, f := range []struct {
		name, usage string
		path        *string
	}{
		{"nats-creds", "credentials file of a NATS user: its JWT and seed", &s.access.Creds},
		{"nats-nkey", "file of a NATS user's nkey seed", &s.access.NKey},
		{"nats-token-file", "file of the NATS server's token", &s.access.TokenFile},
		{"nats-tls-ca", "PEM file of the authority that has signed the NATS server's certificate (default: the system's)", &s.access.CA},
		{"nats-tls-cert", "PEM file of the certificate that the NATS server knows us by", &s.access.Cert},
		{"nats-tls-key", "PEM file of that certificate's key", &s.access.Key},
	} {
		flags.Var((*file)(f.path), f.name, f.usage)
	}
	flags.IntVar(&s.replicas, "replicas", 0, "how many servers of a NATS cluster keep sessions and events: 1, 3 or 5 (default: 1 where a worker makes the streams)")
}

// checkAccess returns an error for flags of a server that do not go together.
func (s *settings) checkAccess() error {
	switch s.replicas {
	case 0, 1, 3, 5:
	default:
		return fmt.Errorf("replicas %d: write 1, 3 or 5", s.replicas)
	}
	if s.nats == "" {
		if s.access != (eventbus.Access{}) || s.replicas != 0 {
			return errors.New("--nats-creds and the like, and --replicas, are for the server of --nats, and that is not given")
		}
		return nil
	}
	if err := s.access.Check(s.nats); err != nil {
		return fmt.Errorf("--nats: %w", err)
	}
	return nil
}

// file is a flag that names a file. It is absolute; what is relative on the
// command line and in the environment is so to the current folder.
type file string

// String implements [pflag.Value].
func (f *file) String() string { return string(*f) }

// Type implements [pflag.Value].
func (f *file) Type() string { return "file" }

// Set implements [pflag.Value].
func (f *file) Set(path string) error {
	if path == "" {
		return errors.New("a file without a name")
	}
	abs, err := filepath.Abs(path)
	*f = file(abs)
	return err
}

// setConfig takes a text; a relative path is below dir.
func (f *file) setConfig(value json.RawMessage, dir string) error {
	var path string
	if json.Unmarshal(value, &path) != nil {
		return errors.New("write the path of a file")
	}
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return f.Set(path)
}
