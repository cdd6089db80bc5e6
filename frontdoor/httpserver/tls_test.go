package httpserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
)

// issue writes a certificate for a name and its key into a folder.
func issue(t *testing.T, dir, name string) (at httpserver.TLS, root *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	at = httpserver.TLS{Addr: "127.0.0.1:0", CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{at.CertFile: {Type: "CERTIFICATE", Bytes: der}, at.KeyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		made := filepath.Join(dir, "new")
		if err := os.WriteFile(made, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(made, path); err != nil {
			t.Fatal(err)
		}
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return at, root
}

// TestTLS: other machines get in with named tokens alone, by a name of the certificate;
// and a certificate that was replaced counts at once.
func TestTLS(t *testing.T) {
	file, texts := named(t)
	dir := t.TempDir()
	at, root := issue(t, dir, "worker.example")
	e := newEnv(t, answer("x"), httpserver.Options{Tokens: tokens.Open(file, slog.New(slog.DiscardHandler)), TLS: &at, Page: &page.Options{}})
	secure := e.server.SecureURL()
	trust := func(root *x509.Certificate, name string) {
		pool := x509.NewCertPool()
		pool.AddCert(root)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}}
		t.Cleanup(transport.CloseIdleConnections)
		e.client = &http.Client{Transport: transport}
	}
	request := func(token, method, path, host string) *http.Request {
		r := e.with(token, method, path, "")
		r.URL.Scheme, r.URL.Host, r.Host = "https", strings.TrimPrefix(secure, "https://"), host
		return r
	}
	trust(root, "worker.example")
	for _, tt := range []struct {
		token, host string
		want        int
	}{
		{texts["read"], "worker.example", 200},
		{texts["read"], "worker.example:7434", 200},
		{token, "worker.example", 401},
		{"", "worker.example", 401},
		{texts["read"], "evil.example", 403},
		{texts["read"], "127.0.0.1", 403},
	} {
		if resp, body := e.do(request(tt.token, "GET", "/v1/sessions", tt.host)); resp.StatusCode != tt.want {
			t.Errorf("%.5s at %s: status %d, want %d: %s", tt.token, tt.host, resp.StatusCode, tt.want, body)
		}
	}
	_, body := e.do(request(texts["read"], "POST", "/v1/page/links", "worker.example"))
	link := decode[struct{ URL string }](t, body).URL
	path, ok := strings.CutPrefix(link, "https://worker.example")
	if !ok {
		t.Fatalf("the link is %s", link)
	}
	resp, _ := e.do(request("", "GET", path, "worker.example"))
	if cookies := resp.Cookies(); len(cookies) != 1 || !cookies[0].Secure || !cookies[0].HttpOnly {
		t.Errorf("cookies %v", cookies)
	}
	owner, _ := e.server.PageLink()
	resp, _ = e.do(request("", "GET", owner[len(e.server.URL()):], "worker.example"))
	r := request("", "GET", "/v1/sessions", "worker.example")
	r.Header.Del("Authorization")
	for _, c := range resp.Cookies() {
		r.AddCookie(c)
	}
	if resp, _ := e.do(r); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the owner's cookie: status %d", resp.StatusCode)
	}

	_, renewed := issue(t, dir, "worker.example")
	trust(renewed, "worker.example")
	if resp, _ := e.do(request(texts["read"], "GET", "/healthz", "worker.example")); resp.StatusCode != http.StatusOK {
		t.Errorf("with the new certificate: status %d", resp.StatusCode)
	}
	if err := os.WriteFile(at.KeyFile, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	trust(renewed, "worker.example")
	if resp, _ := e.do(request(texts["read"], "GET", "/healthz", "worker.example")); resp.StatusCode != http.StatusOK {
		t.Errorf("while the key is rubbish: status %d", resp.StatusCode)
	}
}

// TestTLSRefuses: without a named token, or with a key that everybody can read, it does not
// listen.
func TestTLSRefuses(t *testing.T) {
	dir := t.TempDir()
	at, _ := issue(t, dir, "worker.example")
	file, _ := named(t)
	log := slog.New(slog.DiscardHandler)
	for says, opts := range map[string]httpserver.Options{
		"no named token": {TLS: &at},
		"no such file":   {TLS: &httpserver.TLS{Addr: "127.0.0.1:0", CertFile: "/none", KeyFile: at.KeyFile}, Tokens: tokens.Open(file, log)},
		"read by everyb": {TLS: &at, Tokens: tokens.Open(file, log)},
	} {
		mode := os.FileMode(0o600)
		if says == "read by everyb" {
			mode = 0o604
		}
		if err := os.Chmod(at.KeyFile, mode); err != nil {
			t.Fatal(err)
		}
		opts.Token = token
		if s, err := httpserver.Start(t.Context(), "127.0.0.1:0", opts); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, %v, want %q", s, err, says)
		}
	}
}
