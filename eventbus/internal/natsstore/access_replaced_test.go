package natsstore_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
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

// authority signs the certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority returns an authority with a certificate of its own.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := new(authority)
	der := a.sign(t, &a.key, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

// sign makes a key and its certificate, whose authority is a or, while a has none,
// itself.
func (a *authority) sign(t *testing.T, key **ecdsa.PrivateKey, c *x509.Certificate) (der []byte) {
	t.Helper()
	var err error
	if *key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.Subject.CommonName = big.NewInt(1), "test"
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent := a.cert
	if parent == nil { // then key is a's
		parent = c
	}
	if der, err = x509.CreateCertificate(rand.Reader, c, parent, &(*key).PublicKey, a.key); err != nil {
		t.Fatal(err)
	}
	return der
}

// pem returns the certificate of the authority as a file has it.
func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// issue returns a certificate and its key as a file has them.
func (a *authority) issue(t *testing.T) string {
	t.Helper()
	var key *ecdsa.PrivateKey
	der := a.sign(t, &key, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// server returns the options of a server with a certificate of a, for clients with
// one of another authority; nil means for all.
func (a *authority) server(t *testing.T, clients *authority) server.Options {
	t.Helper()
	text := []byte(a.issue(t))
	cert, err := tls.X509KeyPair(text, text)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(clients.cert)
	}
	return server.Options{Host: "127.0.0.1", TLS: true, TLSVerify: clients != nil, TLSTimeout: 60, TLSConfig: config}
}

// replacement is what a worker and its server have before and after a change.
type replacement struct {
	name, before, after string // of the file
	access              func(file string) natsstore.Access
	first, second       server.Options
}

func replacements(t *testing.T) []replacement {
	const ( // made for this test
		oldSeed = "SUACNXJH6UAHHZ2ZQ3GLUVYNHDIZ4UJNYMJOZURPQIQW4XYN3KX7GXBJNU"
		oldUser = "UCV2IW4WWOIGQLMQLTAWTFHYU6JM7IEOIW6CEY5C2NYU5QVHRIKJCUQL"
		newSeed = "SUAO4SXFBM5XWWGOBB3VA53CXOUXXS2B3SVYLOVOJAF6F3NEEH4RRN25TU"
		newUser = "UA4HCHOGTTM4P2YMBUF7YUFYFT22OSBVU7GN3ZKEZ3AZXS44AVIUWFBW"
	)
	old, next := newAuthority(t), newAuthority(t)
	o := newOperator(t)
	oldID, oldCreds := o.user()
	_, newCreds := o.user()
	return []replacement{
		{
			"token", "h0nter", "h0nter2", func(f string) natsstore.Access { return natsstore.Access{TokenFile: f} },
			server.Options{Authorization: "h0nter"}, server.Options{Authorization: "h0nter2"},
		},
		{
			"nkey", oldSeed, newSeed, func(f string) natsstore.Access { return natsstore.Access{NKey: f} },
			server.Options{Nkeys: []*server.NkeyUser{{Nkey: oldUser}}}, server.Options{Nkeys: []*server.NkeyUser{{Nkey: newUser}}},
		},
		{
			"credentials", oldCreds, newCreds, func(f string) natsstore.Access { return natsstore.Access{Creds: f} },
			o.server(), o.server(oldID),
		},
		{
			"authority", old.pem(), next.pem(), func(f string) natsstore.Access { return natsstore.Access{CA: f} },
			old.server(t, nil), next.server(t, nil),
		},
		{
			"certificate", old.issue(t), next.issue(t), func(f string) natsstore.Access {
				return natsstore.Access{CA: write(t, "ca", old.pem()), Cert: f, Key: f}
			},
			old.server(t, old), old.server(t, next),
		},
	}
}

// TestCredentialsReplacedLate: a server that starts anew with other credentials or
// certificates refuses the worker, or the worker it, until the worker's file is
// replaced. Then the worker is back, on the connection for publishing too.
func TestCredentialsReplacedLate(t *testing.T) {
	t.Parallel()
	for _, tt := range replacements(t) {
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
			says := ""
			told := func() bool { return strings.Contains(says, "uthorization") || strings.Contains(says, "certificate") }
			// The library gives up at the second. A reason can be lost with its connection.
			for accepted := uint64(0); accepted < 3 || !told() && accepted < 20; {
				select {
				case <-refused:
				case <-store.Context().Done():
					t.Fatal(context.Cause(store.Context()))
				}
				varz, err := second.Varz(nil)
				if err != nil {
					t.Fatal(err)
				}
				accepted, says = varz.TotalConnections, store.Health().Diagnosis
			}
			if !told() {
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
