package eventbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// startWait is how long a cluster that has no leader at the moment may take
	// to get one, when the bus is opened.
	startWait = 20 * time.Second

	// silence is how long nobody at all may listen to requests of JetStream.
	silence = 2 * time.Second

	// electionTimeout is how long a cluster that has lost a leader may take to
	// acknowledge an event.
	electionTimeout = 30 * time.Second

	// pullHeartbeat is how often a server says that a follower without events is
	// not forgotten; two that are missed have it ask again.
	pullHeartbeat = 2 * time.Second

	// What failed is tried again after retryPause, and waited for up to tryWait.
	retryPause = 200 * time.Millisecond
	tryWait    = 5 * time.Second
)

// Access says how to show an external server who we are. The zero value: by
// what the URL has, if anything. All are paths of files, which are read again
// for every connection, so that they may be replaced while the worker runs. One
// of Creds, NKey, TokenFile and a user in the URL can be given.
type Access struct {
	Creds     string // a user's JWT and seed, as the nsc tool writes them
	NKey      string // a user's seed
	TokenFile string // a token, alone in the file

	CA   string // PEM of the authorities that may have signed the server's certificate; empty: the system's
	Cert string // PEM of our certificate, with Key
	Key  string // PEM of its key
}

// Check returns an error where what is given does not go together, or urls, the
// addresses of external servers with commas between, are none. It reads no
// file, and repeats no part of an address that it can't read: there may be a
// password in it.
func (a Access) Check(urls string) error {
	for i, part := range strings.Split(urls, ",") {
		u, err := parseURL(part)
		switch {
		case err != nil || u.Host == "":
			return fmt.Errorf("address %d is no URL (write nats://host:4222, special characters of a password as %%XX)", i+1)
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
		return fmt.Errorf("%s are given, and only one can count: leave the others out", strings.Join(ways, " and "))
	}
	if (a.Cert == "") != (a.Key == "") {
		return errors.New("a TLS certificate and its key are given together, or neither")
	}
	return nil
}

// options returns the options of a connection to the servers at urls. Its
// errors name files, and never what is in them.
func (a Access) options(urls string) ([]nats.Option, error) {
	if err := a.Check(urls); err != nil {
		return nil, err
	}
	var opts []nats.Option
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
			return nil, fmt.Errorf("the nkey file %s holds no user's seed (it begins with SU)", a.NKey)
		}
		opts = append(opts, opt)
	}
	if a.TokenFile != "" {
		if token, err := readToken(a.TokenFile); err != nil {
			return nil, err
		} else if token == "" {
			return nil, fmt.Errorf("the token file %s is empty", a.TokenFile)
		}
		opts = append(opts, nats.TokenHandler(func() string {
			token, _ := readToken(a.TokenFile) // without it the server says no, and it is tried again
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

func readable(what, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the %s can't be read: %w", what, err)
	}
	return f.Close()
}

func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the token file can't be read: %w", err)
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

// shown returns the addresses of servers without their passwords and tokens.
func shown(urls string) string {
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

// explainConnect says in what a connection failed. None of what it says has a
// secret in it.
func explainConnect(err error) error {
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return errors.New("no server answers there: does it run, and is the address right?")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("it refuses who we say we are (%w): check the user in --nats, or --nats-creds, --nats-nkey, --nats-token-file", err)
	case errors.Is(err, nats.ErrSecureConnRequired):
		return fmt.Errorf("%w: write tls:// in --nats, with --nats-tls-ca if its certificate is of an own authority", err)
	}
	return err
}

var errNoJetStream = errors.New("nobody answers requests of JetStream: start the server with JetStream (nats-server -js), and give it to this account")

// explainStore says what is behind an error of JetStream where its own text
// does not.
func explainStore(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: start the server with JetStream (nats-server -js), and give it to this account", err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return fmt.Errorf("%w: a worker needs the permissions of docs/operations.md", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrTimeout):
		return fmt.Errorf("%w: JetStream does not answer (it is off there, has no leader, or our user may not ask it: see docs/operations.md)", err)
	}
	return err
}

// Transient reports whether what failed with err may do when it is tried again:
// the server, or the leader of a stream, is away for a while. Whether the first
// try has been carried out is then not known.
func Transient(err error) bool {
	var refused *jetstream.APIError
	if errors.As(err, &refused) {
		return slices.Contains(jsAway, refused.ErrorCode)
	}
	var watched *nats.APIError // of the library below that of JetStream, which watches
	if errors.As(err, &watched) {
		return slices.Contains(jsAway, jetstream.ErrorCode(watched.ErrorCode))
	}
	var cut *net.OpError // as the operating system tells that the connection is lost
	if errors.As(err, &cut) {
		return true
	}
	for _, away := range []error{
		io.EOF, io.ErrClosedPipe, net.ErrClosed,
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrNoServers, nats.ErrStaleConnection,
		jetstream.ErrNoStreamResponse, jetstream.ErrAsyncPublishTimeout, context.DeadlineExceeded,
	} {
		if errors.Is(err, away) {
			return true
		}
	}
	return false
}

// jsAway are the codes of JetStream's errors that tell that something is away, as
// nats-server's errors.json has them.
var jsAway = []jetstream.ErrorCode{
	10004, // JSClusterIncompleteErr
	10008, // JSClusterNotAvailErr
	10075, // JSPeerRemapErr
	10118, // JSStreamOfflineErr
	10158, // JSStreamDuplicateMessageConflict: the same message is on its way, by a try before
	10163, // JSStreamExpectedLastSeqPerSubjectNotReady
}

// retry calls f until it succeeds, fails for good ([Transient]), or ctx ends;
// its error is f's last. Each call has tryWait.
func retry(ctx context.Context, f func(context.Context) error) error {
	for {
		attempt, stop := context.WithTimeout(ctx, tryWait)
		err := f(attempt)
		stop()
		if err == nil || !Transient(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryPause):
		}
	}
}

// window returns how many events of one session may be on their way. In a
// cluster it is one: of several that are sent in a row while the stream changes
// its leader the first may be lost and a later one stored, and then nothing can
// put the first in its place any more. The embedded store has one server, whose
// end is the end of all that is on its way.
func (b *Bus) window() int {
	if b.Embedded() {
		return window
	}
	return 1
}

// ackWait is how long the store may take to acknowledge an event. In a cluster
// that has lost a leader it may be 9 s before the others vote for a new one.
func (b *Bus) ackWait() time.Duration {
	if b.Embedded() {
		return ackTimeout
	}
	return electionTimeout
}

// pulls returns the options of a follower. In a cluster a request for events may
// be lost with the server that had it: the heartbeats that are missed then tell.
func (b *Bus) pulls() []jetstream.PullMessagesOpt {
	if b.Embedded() {
		return nil
	}
	return []jetstream.PullMessagesOpt{jetstream.PullHeartbeat(pullHeartbeat)}
}
