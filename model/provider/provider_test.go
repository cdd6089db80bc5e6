package provider_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/provider"
)

// TestRows: each row can be used as it stands, and no two share a name or a variable.
func TestRows(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range provider.Rows {
		for _, name := range []string{r.Name, r.KeyVariable(), r.BaseVariable()} {
			if seen[name] {
				t.Errorf("%s: %s stands in two rows", r.Name, name)
			}
			seen[name] = true
		}
		if !slices.Contains(provider.Forms, r.Form) || strings.HasSuffix(r.Base, "/") || r.Base == "" && len(r.Hosts) == 0 {
			t.Errorf("%s: the form is %q and the address %q", r.Name, r.Form, r.Base)
		}
		if at := provider.At(r.Base); r.Base != "" && !strings.Contains(r.Base, "localhost") && at.Name != r.Name {
			t.Errorf("%s is taken for %q", r.Base, at.Name)
		}
	}
	for base, want := range map[string]string{
		"https://eu.api.openai.com/v1": "openai", "https://mine.openai.azure.com/openai/v1": "azure", "https://api.githubcopilot.com": "github",
		"https://notopenai.com/v1": "", "http://localhost:11434/v1": "", "https://openai.com.example.com": "", "://": "", "": "",
	} {
		if got := provider.At(base); got.Name != want {
			t.Errorf("%s is taken for %q, want %q", base, got.Name, want)
		}
	}
}

// TestConnection: what is set reaches the server, and a server whose certificate nobody has named
// is not talked to.
func TestConnection(t *testing.T) {
	var got *http.Request
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	ca := write(t, dir, "ca.pem", "CERTIFICATE", server.Certificate().Raw)
	cert, key := clientCertificate(t, dir)
	get := func(c provider.Connection, address string) error {
		got = nil
		client, err := c.Client()
		if err != nil {
			return err
		}
		defer client.CloseIdleConnections()
		res, err := client.Get(address)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	whole := provider.Connection{
		UserAgent: "agentworker/1", Headers: map[string]string{"X-Team": "a"}, Query: map[string]string{"api-version": "2"},
		CAFile: ca, CertFile: cert, KeyFile: key, Proxy: "none",
	}
	if err := get(whole, server.URL+"/v1?a=b"); err != nil || got == nil {
		t.Fatal(err)
	}
	if got.UserAgent() != "agentworker/1" || got.Header.Get("X-Team") != "a" || got.URL.RawQuery != "a=b&api-version=2" || len(got.TLS.PeerCertificates) != 1 {
		t.Errorf("the server got %s, %v", got.URL, got.Header)
	}
	if err := get(provider.Connection{}, server.URL); err == nil || got != nil {
		t.Errorf("a server with a certificate of nobody's: %v", err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r }))
	defer proxy.Close()
	if err := get(provider.Connection{Proxy: proxy.URL}, "http://models.example.com/v1"); err != nil || got == nil || got.URL.Host != "models.example.com" {
		t.Errorf("through a proxy: %v, %v", got, err)
	}
	for _, wrong := range []provider.Connection{
		{CAFile: filepath.Join(dir, "none")}, {CAFile: key}, {CertFile: cert}, {KeyFile: key}, {Proxy: "proxy"},
	} {
		if _, err := wrong.Client(); err == nil {
			t.Errorf("%+v: no error", wrong)
		}
	}
}

func clientCertificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, dir, "cert.pem", "CERTIFICATE", raw), write(t, dir, "key.pem", "PRIVATE KEY", der)
}

func write(t *testing.T, dir, name, kind string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestByResponses: OpenAI's own models that reason, whatever else there is.
func TestByResponses(t *testing.T) {
	openai, _ := provider.Named("openai")
	for name, want := range map[string]bool{"gpt-5.5": true, "gpt-5-mini": true, "gpt-10": true, "o3": true, "codex-mini": true, "gpt-4.1": false, "gpt-4o": false, "gpt-oss-120b": false} {
		if got := openai.ByResponses(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if vllm, _ := provider.Named("vllm"); vllm.ByResponses("gpt-5.5") {
		t.Error("a server of one's own is asked by the Responses API")
	}
}

func TestPatches(t *testing.T) {
	for name, want := range map[string]bool{
		"openai/gpt-5.5": true, "openai/o3": true, "openai/codex-mini-latest": true, "openai/text-embedding-3": false,
		"openrouter/openai/gpt-5.5": true, "openrouter/anthropic/claude-sonnet-5": false, "github/openai/gpt-5": true, "azure/gpt-5": true,
		"ollama/gpt-oss:20b": true, "ollama/llama4": false, "fireworks/accounts/fireworks/models/gpt-oss-120b": true,
		"anthropic/claude-sonnet-5-5": false, "gemini/gemini-3-pro": false, "offline": false, "own/gpt-5": false, "": false,
	} {
		if got := provider.Patches(name); got != want {
			t.Errorf("%q is offered apply_patch: %v, want %v", name, got, want)
		}
	}
}

// TestFresh: headers that a command prints are sent, and printed anew once the server refuses them. What the
// command says when it fails is an error of its own kind.
func TestFresh(t *testing.T) {
	var bodies []string
	valid := "t1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bodies = append(bodies, string(body)); r.Header.Get("X-Token") != valid {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	printed := 0
	client, err := provider.Connection{Fresh: func(_ context.Context, again bool) (map[string]string, error) {
		if printed == 0 || again {
			printed++
		}
		if printed > 3 {
			return nil, errors.New("it is broken")
		}
		return map[string]string{"X-Token": fmt.Sprintf("t%d", printed)}, nil
	}}.Client()
	if err != nil {
		t.Fatal(err)
	}
	post := func() (int, error) {
		bodies = nil
		res, err := client.Post(server.URL, "text/plain", strings.NewReader("x"))
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	if status, err := post(); status != 200 || err != nil || len(bodies) != 1 {
		t.Errorf("at first: %d, %v, %q", status, err, bodies)
	}
	valid = "t2"
	if status, err := post(); status != 200 || err != nil || !slices.Equal(bodies, []string{"x", "x"}) {
		t.Errorf("once it is refused: %d, %v, %q", status, err, bodies)
	}
	valid = "none"
	if status, err := post(); status != 401 || err != nil || len(bodies) != 2 {
		t.Errorf("refused for good: %d, %v, %q", status, err, bodies)
	}
	_, err = post()
	if own, ok := errors.AsType[*model.Error](err); !ok || own.Kind != model.ErrAuth || own.Message != "it is broken" {
		t.Errorf("the command fails: %v", err)
	}
}

// TestPlaceholders: names that separate or end a header become ones that do not.
func TestPlaceholders(t *testing.T) {
	who := model.Asker{Agent: "a,b\r\nX: y é", Session: "ses_1"}
	for text, want := range map[string]string{
		"": "", "plain": "plain", "{agent},{session}": "a_b__X:_y__,ses_1", `{"a":"{agent}"}`: `{"a":"a_b__X:_y__"}`, "{other}": "{other}",
	} {
		if got := provider.Placeholders(text, who); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
