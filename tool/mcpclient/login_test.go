package mcpclient_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/tool/mcpclient"
	"github.com/agentworker/worker/tool/mcpclient/mcptest"
)

// authServer has the tools of mcptest for callers with a token, and the authorization server that
// gives tokens.
type authServer struct {
	*httptest.Server
	page string // where a person is sent; empty means its own

	mu      sync.Mutex
	asked   map[string]url.Values // by codes
	valid   map[string]bool       // access tokens
	renewed int
	lasts   int    // seconds that a token is valid
	refresh string // the refresh token that is good, once
	during  func() // called while a token is renewed
}

func newAuthServer(t *testing.T) *authServer {
	a := &authServer{asked: map[string]url.Values{}, valid: map[string]bool{}, lasts: 3600}
	mux := http.NewServeMux()
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	t.Cleanup(a.CloseClientConnections)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.valid[token] {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.New() }, &mcp.StreamableHTTPOptions{Stateless: true})
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: a.URL + "/.well-known/oauth-protected-resource"})(tools))
	mux.Handle("/.well-known/oauth-protected-resource", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{Resource: a.URL + "/mcp", AuthorizationServers: []string{a.URL}}))
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		page := a.URL + "/authorize"
		if a.page != "" {
			page = a.page
		}
		answer(w, map[string]any{
			"issuer": a.URL, "authorization_endpoint": page, "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var meta map[string]any
		_ = json.NewDecoder(r.Body).Decode(&meta)
		meta["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(meta)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		a.mu.Lock()
		a.asked["code-1"] = q
		a.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=code-1&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		a.mu.Lock()
		if during := a.during; during != nil && r.Form.Get("grant_type") == "refresh_token" {
			a.mu.Unlock()
			during()
			a.mu.Lock()
		}
		defer a.mu.Unlock()
		switch r.Form.Get("grant_type") {
		case "authorization_code":
			sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
			asked := a.asked[r.Form.Get("code")]
			if asked == nil || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
				http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
				return
			}
		case "refresh_token":
			if r.Form.Get("refresh_token") != a.refresh {
				http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
				return
			}
			a.renewed++
		}
		token := fmt.Sprintf("token-%d", len(a.valid)+1)
		a.valid[token] = true
		a.refresh = "again-" + token
		answer(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": a.lasts, "refresh_token": a.refresh})
	})
	return a
}

func (a *authServer) server() *mcpconfig.Server {
	return &mcpconfig.Server{Name: "far", Transport: mcpconfig.HTTP, URL: a.URL + "/mcp", File: "test"}
}

// browser visits a page as a person's does.
func browser(page string) error {
	res, err := http.Get(page)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return err
}

// TestLogin: a server behind OAuth is called once a person has logged in, also by the next process,
// and its tokens are renewed.
func TestLogin(t *testing.T) {
	a := newAuthServer(t)
	p := newPlace(t, a.server())
	if warnings := p.Ready(t.Context(), nil, nil, p.ws); len(warnings) != 1 || !strings.Contains(warnings[0], "'worker mcp servers login far'") {
		t.Fatalf("without a login: %q", warnings)
	}
	a.lasts = 1 // less than what a client takes for valid: the next call renews it
	if n, err := p.Login(t.Context(), p.opts.Own[0], p.ws, browser); err != nil || n < 10 {
		t.Fatalf("%d tools, %v", n, err)
	}
	p.wants(p.call("mcp__far__echo", "hello"), false, "hello")
	files, err := filepath.Glob(filepath.Join(p.opts.StateDir, "mcp-logins", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	for path, want := range map[string]fs.FileMode{files[0]: 0o600, filepath.Dir(files[0]): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	next := &place{mcpclient.New(p.opts), t, p.ws, p.dir, p.trust, p.opts}
	next.wants(next.callIn(t.Context(), "ses_n", "mcp__far__echo", "from another process"), false, "another process")
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	a.mu.Lock()
	renewed := a.renewed
	clear(a.valid) // the server has ended all logins
	a.mu.Unlock()
	if renewed == 0 {
		t.Error("no token was renewed")
	}
	changed := a.server()
	changed.Headers = map[string]string{"X-More": "1"}
	if warnings := newPlace(t, changed).Ready(t.Context(), nil, nil, p.ws); len(warnings) != 1 || !strings.Contains(warnings[0], "servers login") {
		t.Errorf("a server with another content has the login: %q", warnings)
	}
	if !p.LoggedIn(p.opts.Own[0]) || p.LoggedIn(changed) {
		t.Error("it is not said which server has a login")
	}
	if err := p.Forget(p.opts.Own[0]); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(files[0]); err == nil || p.LoggedIn(p.opts.Own[0]) {
		t.Error("a login is kept that was forgotten")
	}
}

// TestLoginAttacks: a server gains nothing by its login.
func TestLoginAttacks(t *testing.T) {
	a := newAuthServer(t)
	p := newPlace(t, a.server())
	for _, page := range []string{"file:///etc/passwd", "javascript:alert(1)", "http://example.com/authorize"} {
		a.page = page
		_, err := p.Login(t.Context(), p.opts.Own[0], p.ws, func(page string) error {
			t.Errorf("a person is sent to %s", page)
			return nil
		})
		if err == nil {
			t.Errorf("%s: it has logged in", page)
		}
	}
	a.page = ""
	// Another page of the browser can't answer for the login.
	_, err := p.Login(t.Context(), p.opts.Own[0], p.ws, func(page string) error {
		u, _ := url.Parse(page)
		return browser(u.Query().Get("redirect_uri") + "?code=stolen&state=guessed")
	})
	if err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("a page with another state: %v", err)
	}
	// A person who says no.
	_, err = p.Login(t.Context(), p.opts.Own[0], p.ws, func(page string) error {
		q, _ := url.Parse(page)
		return browser(q.Query().Get("redirect_uri") + "?error=access_denied&state=" + url.QueryEscape(q.Query().Get("state")))
	})
	if err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Errorf("a no: %v", err)
	}
	// One that the repository names, and nobody trusts.
	stranger := a.server()
	stranger.Repository = true
	if _, err := p.Login(t.Context(), stranger, p.ws, browser); err == nil || !strings.Contains(err.Error(), "not trusted") {
		t.Errorf("a server that nobody trusts: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(p.opts.StateDir, "mcp-logins", "*.json")); len(files) > 0 {
		t.Errorf("kept: %v", files)
	}
}
