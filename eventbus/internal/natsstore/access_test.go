package natsstore_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus/internal/natsstore"
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

// TestAccess: credentials are in files, and no error contains a secret.
func TestAccess(t *testing.T) {
	const ( // made for this test
		seed   = "SUACNXJH6UAHHZ2ZQ3GLUVYNHDIZ4UJNYMJOZURPQIQW4XYN3KX7GXBJNU"
		public = "UCV2IW4WWOIGQLMQLTAWTFHYU6JM7IEOIW6CEY5C2NYU5QVHRIKJCUQL"
		wrong  = "SUAO4SXFBM5XWWGOBB3VA53CXOUXXS2B3SVYLOVOJAF6F3NEEH4RRN25TU"
	)
	byKey := natstest.Start(t, server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}).ClientURL()
	byToken := natstest.Start(t, server.Options{Authorization: "h0nter"}).ClientURL()
	byUser := natstest.Start(t, server.Options{Username: "worker", Password: "h0nter"}).ClientURL()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, tt := range []struct {
		name, url string
		access    natsstore.Access
		says      string // empty means it opens
	}{
		{"nkey", byKey, natsstore.Access{NKey: write(t, "nkey", seed)}, ""},
		{"of another user", byKey, natsstore.Access{NKey: write(t, "nkey", wrong)}, "rejects the credentials"},
		{"without an nkey", byKey, natsstore.Access{}, "rejects the credentials"},
		{"rubbish for an nkey", byKey, natsstore.Access{NKey: write(t, "nkey", "h0nter")}, "does not hold a user's seed"},
		{"no such nkey", byKey, natsstore.Access{NKey: "/nonexistent/nkey"}, "no such file"},
		{"token", byToken, natsstore.Access{TokenFile: write(t, "token", "h0nter\n")}, ""},
		{"wrong token", byToken, natsstore.Access{TokenFile: write(t, "token", "h0nter2")}, "rejects the credentials"},
		{"empty token", byToken, natsstore.Access{TokenFile: write(t, "token", "\n")}, "is empty"},
		{"token in the URL", strings.Replace(byToken, "://", "://h0nter@", 1), natsstore.Access{}, ""},
		{"user in the URL", strings.Replace(byUser, "://", "://worker:h0nter@", 1), natsstore.Access{}, ""},
		{"wrong password", strings.Replace(byUser, "://", "://worker:h0nter2@", 1), natsstore.Access{}, "nats://worker:xxxxx@127.0.0.1"},
		{"two ways", strings.Replace(byUser, "://", "://worker:h0nter@", 1), natsstore.Access{TokenFile: write(t, "token", "h0nter")}, "give only one of them"},
		{"rubbish for credentials", byUser, natsstore.Access{Creds: write(t, "creds", "h0nter")}, ""},
		{"no credentials", byUser, natsstore.Access{Creds: "/nonexistent/creds"}, "credentials file"},
		{"certificate without key", byUser, natsstore.Access{Cert: "/c.pem"}, "together, or neither"},
		{"rubbish for an authority", byUser, natsstore.Access{CA: write(t, "ca", "h0nter")}, "root certificate"},
		{"no URL", "nats://worker:h0nt/er@h:4222", natsstore.Access{}, "address 1 is not a URL"},
		{"no NATS", "nats://h:1,http://worker:h0nter@h:4222", natsstore.Access{}, "address 2 begins with http:"},
		{"nobody there", "nats://worker:h0nter@127.0.0.1:1", natsstore.Access{}, "no server answers there"},
		{"silence", "nats://worker:h0nter@" + silent.Addr().String(), natsstore.Access{}, "connecting to nats://worker:xxxxx@127.0.0.1"},
	} {
		store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: tt.url, Access: tt.access})
		if err == nil {
			store.Close()
		}
		switch {
		case tt.name == "rubbish for credentials":
			if err == nil {
				t.Errorf("%s: the store opens", tt.name)
			}
		case tt.says == "" && err != nil, tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
		if err != nil && (strings.Contains(err.Error(), "h0nt") || strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s: there is a secret in %v", tt.name, err)
		}
	}
}

// TestNoJetStream: the error of a server without JetStream says what to do.
func TestNoJetStream(t *testing.T) {
	srv := natstest.StartCore(t, server.Options{})
	store, err := natsstore.Open(t.Context(), &natsstore.Options{URL: srv.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, err = store.EnsureStream(t.Context(), jetstream.StreamConfig{Name: "any"})
	if err == nil || !strings.Contains(err.Error(), "start the server with JetStream") {
		t.Errorf("%v, want what to do", err)
	}
}
