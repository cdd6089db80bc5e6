package natsstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Access holds the credentials for an external server. The zero value uses those in the URL,
// if any. All fields are paths of files. Each attempt to connect reads them again, so they can
// be replaced while the worker runs, even after the server has begun to refuse the old ones.
// At most one of Creds, NKey, TokenFile and a user in the URL can be given.
type Access struct {
	Creds     string // a user's JWT and seed, as the nsc tool writes them
	NKey      string // a user's seed
	TokenFile string // a token, alone in the file

	CA   string // PEM of the authorities that may have signed the server's certificate; empty means the system's
	Cert string // PEM of the worker's certificate, with Key
	Key  string // PEM of its key
}

// Check returns an error if the fields contradict each other, or if urls, the
// addresses of external servers with commas between them, can't be parsed. It
// reads no file, and it never repeats an address that can't be parsed: there may
// be a password in it.
func (a Access) Check(urls string) error {
	for i, part := range strings.Split(urls, ",") {
		u, err := parseURL(part)
		switch {
		case err != nil || u.Host == "":
			return fmt.Errorf("address %d is not a URL (write nats://host:4222, and special characters of a password as %%XX)", i+1)
		case !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			return fmt.Errorf("address %d begins with %s:, and a NATS server's with nats:, tls:, ws: or wss:", i+1, u.Scheme)
		}
	}
	var ways []string
	for _, way := range []struct {
		given bool
		what  string
	}{
		{a.Creds != "", "a credentials file"}, {a.NKey != "", "an nkey"}, {a.TokenFile != "", "a token file"},
		{strings.Contains(urls, "@"), "a user in the URL"},
	} {
		if way.given {
			ways = append(ways, way.what)
		}
	}
	if len(ways) > 1 {
		return fmt.Errorf("%s are given: give only one of them", strings.Join(ways, " and "))
	}
	if (a.Cert == "") != (a.Key == "") {
		return errors.New("a TLS certificate and its key are given together, or neither is")
	}
	return nil
}

// options returns the options of one connection to the servers at urls. Its errors
// name files, but never repeat what is in them. key reads the nkey, if there is one.
func (a Access) options(urls string, key *keyDialer) ([]nats.Option, error) {
	if err := a.Check(urls); err != nil {
		return nil, err
	}
	var opts []nats.Option
	if a.replaceable() { // a first connection fails at once all the same
		opts = append(opts, nats.IgnoreAuthErrorAbort())
	}
	if a.Creds != "" {
		if err := readable("credentials file", a.Creds); err != nil {
			return nil, err
		}
		opts = append(opts, nats.UserCredentials(a.Creds))
	}
	if a.NKey != "" {
		if err := readable("nkey file", a.NKey); err != nil {
			return nil, err
		}
		opt, err := nats.NkeyOptionFromSeed(a.NKey)
		if err != nil {
			return nil, fmt.Errorf("the nkey file %s does not hold a user's seed (it begins with SU)", a.NKey)
		}
		opts = append(opts, opt, nats.SetCustomDialer(key))
	}
	if a.TokenFile != "" {
		if token, err := readToken(a.TokenFile); err != nil {
			return nil, err
		} else if token == "" {
			return nil, fmt.Errorf("the token file %s is empty", a.TokenFile)
		}
		opts = append(opts, nats.TokenHandler(func() string {
			token, _ := readToken(a.TokenFile) // without a token the server refuses, and the client tries again
			return token
		}))
	}
	if a.CA != "" {
		opts = append(opts, nats.RootCAs(a.CA))
	}
	if a.Cert != "" {
		opts = append(opts, nats.ClientCert(a.Cert, a.Key))
	}
	return opts, nil
}

// replaceable reports whether the server may take the credentials once their file
// has been replaced. Those in a URL stay as they are.
func (a Access) replaceable() bool {
	return a.Creds != "" || a.NKey != "" || a.TokenFile != "" || a.Cert != ""
}

// keyDialer dials the servers of one connection. It makes the connection use the nkey that the
// file has at that moment: the library reads the seed anew for each try, but takes the public
// key of the first one.
type keyDialer struct {
	file string
	conn atomic.Pointer[nats.Conn] // nil means it is being made, and has read the file
}

// Dial implements [nats.CustomDialer]. The library calls it with the connection's
// lock held.
func (d *keyDialer) Dial(network, address string) (net.Conn, error) {
	if conn := d.conn.Load(); conn != nil {
		opt, err := nats.NkeyOptionFromSeed(d.file)
		if err != nil {
			return nil, fmt.Errorf("the nkey file %s can't be read, or does not hold a user's seed", d.file)
		}
		if err := opt(&conn.Opts); err != nil {
			return nil, err
		}
	}
	return net.DialTimeout(network, address, nats.DefaultTimeout)
}

func readable(what, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the %s: %w", what, err)
	}
	return f.Close()
}

func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the token file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

func parseURL(part string) (*url.URL, error) {
	part = strings.TrimSpace(part)
	if !strings.Contains(part, "://") {
		part = "nats://" + part
	}
	return url.Parse(part)
}

// redacted returns the addresses of servers without passwords and tokens.
func redacted(urls string) string {
	if urls == "" {
		return "the embedded event store"
	}
	var out []string
	for part := range strings.SplitSeq(urls, ",") {
		u, err := parseURL(part)
		if err != nil {
			out = append(out, "a NATS server")
			continue
		}
		if _, password := u.User.Password(); u.User != nil && !password {
			u.User = url.User("xxxxx") // a token
		}
		out = append(out, u.Redacted())
	}
	return strings.Join(out, ",")
}
