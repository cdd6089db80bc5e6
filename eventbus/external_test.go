package eventbus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/eventbus/natstest"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAccess: who we are to a server is in files, and no secret is in an error.
func TestAccess(t *testing.T) {
	const ( // made for this test
		seed   = "SUACNXJH6UAHHZ2ZQ3GLUVYNHDIZ4UJNYMJOZURPQIQW4XYN3KX7GXBJNU"
		public = "UCV2IW4WWOIGQLMQLTAWTFHYU6JM7IEOIW6CEY5C2NYU5QVHRIKJCUQL"
		wrong  = "SUAO4SXFBM5XWWGOBB3VA53CXOUXXS2B3SVYLOVOJAF6F3NEEH4RRN25TU"
	)
	byKey := natstest.Start(t, server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}).ClientURL()
	byToken := natstest.Start(t, server.Options{Authorization: "h0nter"}).ClientURL()
	byUser := natstest.Start(t, server.Options{Username: "worker", Password: "h0nter"}).ClientURL()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, tt := range []struct {
		name, url string
		access    eventbus.Access
		says      string // empty: it opens
	}{
		{"nkey", byKey, eventbus.Access{NKey: write(t, "nkey", seed)}, ""},
		{"another's nkey", byKey, eventbus.Access{NKey: write(t, "nkey", wrong)}, "refuses who we say we are"},
		{"no nkey", byKey, eventbus.Access{}, "refuses who we say we are"},
		{"rubbish for an nkey", byKey, eventbus.Access{NKey: write(t, "nkey", "h0nter")}, "holds no user's seed"},
		{"no such nkey", byKey, eventbus.Access{NKey: "/nonexistent/nkey"}, "no such file"},
		{"token", byToken, eventbus.Access{TokenFile: write(t, "token", "h0nter\n")}, ""},
		{"wrong token", byToken, eventbus.Access{TokenFile: write(t, "token", "h0nter2")}, "refuses who we say we are"},
		{"empty token", byToken, eventbus.Access{TokenFile: write(t, "token", "\n")}, "is empty"},
		{"token in the URL", strings.Replace(byToken, "://", "://h0nter@", 1), eventbus.Access{}, ""},
		{"user in the URL", strings.Replace(byUser, "://", "://worker:h0nter@", 1), eventbus.Access{}, ""},
		{"wrong password", strings.Replace(byUser, "://", "://worker:h0nter2@", 1), eventbus.Access{}, "nats://worker:xxxxx@127.0.0.1"},
		{"two ways", strings.Replace(byUser, "://", "://worker:h0nter@", 1), eventbus.Access{TokenFile: write(t, "token", "h0nter")}, "only one can count"},
		{"rubbish for credentials", byUser, eventbus.Access{Creds: write(t, "creds", "h0nter")}, ""},
		{"no credentials", byUser, eventbus.Access{Creds: "/nonexistent/creds"}, "credentials file"},
		{"certificate without key", byUser, eventbus.Access{Cert: "/c.pem"}, "together, or neither"},
		{"rubbish for an authority", byUser, eventbus.Access{CA: write(t, "ca", "h0nter")}, "root certificate"},
		{"no URL", "nats://worker:h0nt/er@h:4222", eventbus.Access{}, "address 1 is no URL"},
		{"no NATS", "nats://h:1,http://worker:h0nter@h:4222", eventbus.Access{}, "address 2 begins with http:"},
		{"nobody there", "nats://worker:h0nter@127.0.0.1:1", eventbus.Access{}, "no server answers there"},
		{"silence", "nats://worker:h0nter@" + silent.Addr().String(), eventbus.Access{}, "connecting to nats://worker:xxxxx@127.0.0.1"},
	} {
		bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: tt.url, Access: tt.access})
		if err == nil {
			bus.Close()
		}
		switch {
		case tt.name == "rubbish for credentials":
			if err == nil {
				t.Errorf("%s: it opens", tt.name)
			}
		case tt.says == "" && err != nil, tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
		if err != nil && (strings.Contains(err.Error(), "h0nt") || strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s: a secret shows in %v", tt.name, err)
		}
	}
}

// TestNoJetStream: a server without JetStream is said to be one.
func TestNoJetStream(t *testing.T) {
	srv := natstest.StartCore(t, server.Options{})
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: srv.ClientURL()})
	if err == nil {
		bus.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "start the server with JetStream") {
		t.Errorf("%v, want what to do", err)
	}
}

// TestFitness: a stream that somebody else has made is taken as it is, unless
// it would lose events.
func TestFitness(t *testing.T) {
	good := jetstream.StreamConfig{
		Name: eventbus.Stream, Subjects: []string{"agents.v1.*.events.>"}, AllowDirect: true, Duplicates: 2 * time.Minute, MaxAge: 30 * 24 * time.Hour,
	}
	for _, tt := range []struct {
		name  string
		set   func(*jetstream.StreamConfig)
		fatal string
		warns string
	}{
		{"as it should be", func(*jetstream.StreamConfig) {}, "", ""},
		{"kept for ever, of all subjects", func(c *jetstream.StreamConfig) { c.MaxAge, c.Subjects = 0, []string{"agents.>"} }, "", ""},
		{"another's subjects", func(c *jetstream.StreamConfig) { c.Subjects = []string{"agents.v1.ws.events.>"} }, "agents.v1.*.events.> is not among them", ""},
		{"in memory", func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "kept in memory", ""},
		{"a work queue", func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "deletes what was read", ""},
		{"no acknowledgements", func(c *jetstream.StreamConfig) { c.NoAck = true }, "acknowledges nothing", ""},
		{"tiny", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }, "drops the oldest above 1048576 bytes", ""},
		{"few", func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 }, "drops the oldest above 1000 messages", ""},
		{"one of a subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "last 1 messages of a subject", ""},
		{"minutes", func(c *jetstream.StreamConfig) { c.MaxAge = 10 * time.Minute }, "older than 10m", ""},
		{"short messages", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1024 }, "no message above 1024 bytes", ""},
		{"hours", func(c *jetstream.StreamConfig) { c.MaxAge = 12 * time.Hour }, "", "a session may run for 24h"},
		{"shortish messages", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 256 << 10 }, "", "end their session"},
		{"short memory of ids", func(c *jetstream.StreamConfig) { c.Duplicates = time.Second }, "", "stored twice"},
		{"no direct reads", func(c *jetstream.StreamConfig) { c.AllowDirect = false }, "", "nats stream edit AGENT_EVENTS --allow-direct"},
		{"full is full", func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1<<30, jetstream.DiscardNew }, "", "when it is full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url := natstest.Start(t, server.Options{}).ClientURL()
			cfg := good
			cfg.Subjects = slices.Clone(good.Subjects)
			tt.set(&cfg)
			makeStream(t, url, cfg)
			bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: url})
			var unfit *eventbus.UnfitError
			switch {
			case tt.fatal != "" && (!errors.As(err, &unfit) || !strings.Contains(err.Error(), tt.fatal)):
				t.Errorf("%v, want %q", err, tt.fatal)
			case tt.fatal == "" && err != nil:
				t.Error(err)
			}
			if err != nil {
				return
			}
			defer bus.Close()
			var warned []string
			for _, f := range bus.Findings() {
				warned = append(warned, f.String())
			}
			if text := strings.Join(warned, "\n"); (text == "") != (tt.warns == "") || !strings.Contains(text, tt.warns) {
				t.Errorf("findings %q, want %q", text, tt.warns)
			}
		})
	}
}

func makeStream(t *testing.T, url string, cfg jetstream.StreamConfig) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

// TestBucketFitness: the same for buckets.
func TestBucketFitness(t *testing.T) {
	url := natstest.Start(t, server.Options{}).ClientURL()
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	for _, tt := range []struct {
		name      string
		has, want jetstream.KeyValueConfig
		fatal     string
		warns     string
	}{
		{"same", jetstream.KeyValueConfig{Bucket: "a"}, jetstream.KeyValueConfig{Bucket: "a"}, "", ""},
		{"more history", jetstream.KeyValueConfig{Bucket: "b", History: 5}, jetstream.KeyValueConfig{Bucket: "b"}, "", ""},
		{"less history", jetstream.KeyValueConfig{Bucket: "c"}, jetstream.KeyValueConfig{Bucket: "c", History: 5}, "last 1 messages", ""},
		{"memory", jetstream.KeyValueConfig{Bucket: "d", Storage: jetstream.MemoryStorage}, jetstream.KeyValueConfig{Bucket: "d"}, "kept in memory", ""},
		{"forgets", jetstream.KeyValueConfig{Bucket: "e", TTL: time.Minute}, jetstream.KeyValueConfig{Bucket: "e"}, "older than 1m", ""},
		{"leases end early", jetstream.KeyValueConfig{Bucket: "f", TTL: 5 * time.Second}, jetstream.KeyValueConfig{Bucket: "f", TTL: 10 * time.Second}, "older than 5s", ""},
		{"leases never end", jetstream.KeyValueConfig{Bucket: "g"}, jetstream.KeyValueConfig{Bucket: "g", TTL: 10 * time.Second}, "", "late or never"},
	} {
		if _, err := bus.JetStream().CreateKeyValue(t.Context(), tt.has); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		before := len(bus.Findings())
		_, err := bus.EnsureBucket(t.Context(), tt.want)
		if (err == nil) != (tt.fatal == "") || err != nil && !strings.Contains(err.Error(), tt.fatal) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.fatal)
		}
		found := bus.Findings()[before:]
		if (len(found) == 0) != (tt.warns == "") || len(found) > 0 && !strings.Contains(found[0].String(), tt.warns) {
			t.Errorf("%s: findings %v, want %q", tt.name, found, tt.warns)
		}
	}
}

// TestTransient: what says that the connection or the server is lost may be
// tried again; what the server has refused may not.
func TestTransient(t *testing.T) {
	reset := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ECONNRESET)}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{reset, true},
		{fmt.Errorf("publishing: %w", reset), true},
		{io.ErrClosedPipe, true},
		{nats.ErrNoResponders, true},
		{jetstream.ErrNoStreamResponse, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{nats.ErrMaxPayload, false},
		{nats.ErrAuthorization, false},
		{&jetstream.APIError{ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}, false},
		{&jetstream.APIError{ErrorCode: 10158}, true}, // the same message id is in process
		{&jetstream.APIError{ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}, true},
		{&nats.APIError{ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}, true}, // of a watch
		{&nats.APIError{ErrorCode: nats.JSErrCodeStreamNotFound}, false},
		{errors.New("else"), false},
	} {
		if got := eventbus.Transient(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}

// TestAwayForEach: while the server is away each publisher waits as long as its
// own context says, whoever else waits, and closing the bus ends the waiting.
func TestAwayForEach(t *testing.T) {
	srv := natstest.Start(t, server.Options{})
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: srv.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	srv.Shutdown()
	srv.WaitForShutdown()
	patient := make(chan error, 3)
	for i := range cap(patient) {
		p := publisher(t, bus, event.Path{{SessionID: fmt.Sprint("patient", i)}})
		go func() { patient <- p.Publish(context.Background(), delta(0)) }()
	}
	for range 3 {
		p := publisher(t, bus, event.Path{{SessionID: "hasty"}})
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := p.Publish(ctx, delta(0))
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the context", err)
		}
	}
	select {
	case err := <-patient:
		t.Errorf("the hasty ones waited for the patient ones, of which one got %v", err)
		patient <- err
	default:
	}
	if err := bus.Close(); err != nil {
		t.Error(err)
	}
	for range cap(patient) {
		if err := <-patient; err == nil {
			t.Error("an event was stored nowhere")
		}
	}
}

// TestFollowEndsWhileAway: a follower ends with its context, also while the
// server is away.
func TestFollowEndsWhileAway(t *testing.T) {
	srv := natstest.Start(t, server.Options{})
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{URL: srv.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	path := event.Path{{SessionID: "r"}}
	p := publisher(t, bus, path)
	if err := errors.Join(p.Publish(t.Context(), delta(0)), p.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		var last error
		for _, err := range bus.Follow(ctx, path, eventbus.FollowOptions{Live: true}) {
			if last = err; err == nil {
				close(seen)
			}
		}
		ended <- last
	}()
	<-seen
	lost := bus.Conn().StatusChanged(nats.RECONNECTING)
	srv.Shutdown()
	srv.WaitForShutdown()
	<-lost
	patient := make(chan error, 1)
	wait := func(d time.Duration) {
		ctx, stop := context.WithTimeout(context.Background(), d)
		defer stop()
		_, err := bus.Newest(ctx)
		patient <- err
	}
	wait(200 * time.Millisecond)
	if err := <-patient; err == nil {
		t.Fatal("the server is there")
	}
	go wait(5 * time.Second)
	stop()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the context", err)
		}
	case err := <-patient:
		t.Errorf("the follower waits as long as who waits for the server: %v", err)
	}
}
