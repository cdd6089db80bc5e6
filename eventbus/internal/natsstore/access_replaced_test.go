package natsstore_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestCredentialsReplacedLate: a server that starts anew with other credentials
// refuses the worker until the worker's file is replaced. Then the worker is back,
// on the connection for publishing too.
func TestCredentialsReplacedLate(t *testing.T) {
	const ( // made for this test
		oldSeed = "SUACNXJH6UAHHZ2ZQ3GLUVYNHDIZ4UJNYMJOZURPQIQW4XYN3KX7GXBJNU"
		oldUser = "UCV2IW4WWOIGQLMQLTAWTFHYU6JM7IEOIW6CEY5C2NYU5QVHRIKJCUQL"
		newSeed = "SUAO4SXFBM5XWWGOBB3VA53CXOUXXS2B3SVYLOVOJAF6F3NEEH4RRN25TU"
		newUser = "UA4HCHOGTTM4P2YMBUF7YUFYFT22OSBVU7GN3ZKEZ3AZXS44AVIUWFBW"
	)
	for _, tt := range []struct {
		name, before, after string // of the file
		access              func(file string) natsstore.Access
		first, second       server.Options
	}{
		{
			"token", "h0nter", "h0nter2", func(f string) natsstore.Access { return natsstore.Access{TokenFile: f} },
			server.Options{Authorization: "h0nter"}, server.Options{Authorization: "h0nter2"},
		},
		{
			"nkey", oldSeed, newSeed, func(f string) natsstore.Access { return natsstore.Access{NKey: f} },
			server.Options{Nkeys: []*server.NkeyUser{{Nkey: oldUser}}}, server.Options{Nkeys: []*server.NkeyUser{{Nkey: newUser}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.first.StoreDir = t.TempDir()
			first := natstest.Start(t, tt.first)
			file := write(t, "credentials", tt.before)
			store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: first.ClientURL(), Access: tt.access(file)})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			kv, err := store.EnsureBucket(t.Context(), jetstream.KeyValueConfig{Bucket: "B"})
			if err != nil {
				t.Fatal(err)
			}
			port := first.Addr().(*net.TCPAddr).Port
			refused := store.Conn().StatusChanged(nats.RECONNECTING)
			natstest.Stop(first)
			tt.second.StoreDir, tt.second.Port = tt.first.StoreDir, port
			second := natstest.Start(t, tt.second)
			for accepted := uint64(0); accepted < 3; { // the library gives up at the second
				select {
				case <-refused:
				case <-store.Context().Done():
					t.Fatal(context.Cause(store.Context()))
				}
				varz, err := second.Varz(nil)
				if err != nil {
					t.Fatal(err)
				}
				accepted = varz.TotalConnections
			}
			if says := store.Diagnosis(); !strings.Contains(says, "uthorization") {
				t.Errorf("meanwhile it says %q, want that the server refuses the worker", says)
			}
			if err := os.WriteFile(file, []byte(tt.after), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := kv.Put(t.Context(), "key", []byte("value")); err != nil {
				t.Errorf("the worker is not back: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := store.PublishConn(ctx); err != nil {
				t.Errorf("the worker can't publish: %v", err)
			}
		})
	}
}
