package mcpclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/mcpclient"
	"github.com/agentworker/worker/tool/mcpclient/mcptest"
)

// expiring makes tokens from now on expire at once: each request renews them.
func (a *authServer) expiring(during func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lasts, a.during = 1, during
}

// login logs in with a server.
func (p *place) login(server *mcpconfig.Server) {
	p.t.Helper()
	if _, err := p.Login(p.t.Context(), server, p.ws, browser); err != nil {
		p.t.Fatal(err)
	}
}

// TestLoginShared: sessions of two processes renew the tokens of one login, whose refresh tokens are
// good for one use.
func TestLoginShared(t *testing.T) {
	a := newAuthServer(t)
	p := newPlace(t, a.server())
	a.expiring(nil)
	p.login(p.opts.Own[0])
	other := &place{mcpclient.New(p.opts), t, p.ws, p.dir, p.trust, p.opts}
	for range 3 { // in turns, by connections that stay open
		p.wants(p.callIn(t.Context(), "ses_1", "mcp__far__echo", "one"), false, "one")
		p.wants(p.callIn(t.Context(), "ses_2", "mcp__far__echo", "two"), false, "two")
		other.wants(other.callIn(t.Context(), "ses_3", "mcp__far__echo", "three"), false, "three")
	}
	var calls sync.WaitGroup
	for _, in := range []*place{p, other} {
		calls.Go(func() {
			for range 5 {
				in.wants(in.callIn(t.Context(), "ses_4", "mcp__far__echo", "at once"), false, "at once")
			}
		})
	}
	calls.Wait()
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// TestLoginHangs: a login whose renewal hangs holds up no other server.
func TestLoginHangs(t *testing.T) {
	hangs, works := newAuthServer(t), newAuthServer(t)
	near := works.server()
	near.Name = "near"
	p := newPlace(t, hangs.server(), near)
	hangs.expiring(nil)
	p.login(p.opts.Own[0])
	p.login(near)
	renews, release := make(chan struct{}, 1), make(chan struct{})
	hangs.expiring(func() {
		select {
		case renews <- struct{}{}:
		default:
		}
		<-release
	})
	var calls sync.WaitGroup
	calls.Go(func() { p.wants(p.call("mcp__far__echo", "late"), false, "late") })
	<-renews
	answered := make(chan struct{})
	calls.Go(func() {
		defer close(answered)
		p.wants(p.call("mcp__near__echo", "soon"), false, "soon")
	})
	select {
	case <-answered:
	case <-time.After(10 * time.Second):
		t.Error("a server waits for the login of another one")
	}
	close(release)
	calls.Wait()
}

// TestLoginForgotten: an open connection loses a forgotten login, even in the middle of a renewal.
func TestLoginForgotten(t *testing.T) {
	a := newAuthServer(t)
	p := newPlace(t, a.server())
	server := p.opts.Own[0]
	p.login(server)
	echo := p.tools()["mcp__far__echo"]
	call := func() tool.Result {
		r, err := echo.Run(t.Context(), &tool.Call{SessionID: "ses_f", Args: json.RawMessage(`{"text":"hello"}`), Rules: allowAll})
		if err != nil {
			return tool.Errorf("%v", err)
		}
		return r
	}
	p.wants(call(), false, "hello")
	if err := p.Forget(server); err != nil {
		t.Fatal(err)
	}
	p.wants(call(), true, "'worker mcp servers login far'")

	a.expiring(nil)
	p.login(server)
	var once sync.Once
	var forgets sync.WaitGroup
	a.expiring(func() {
		once.Do(func() {
			forgets.Go(func() {
				if err := p.Forget(server); err != nil {
					t.Error(err)
				}
			})
			for p.LoggedIn(server) {
				runtime.Gosched()
			}
		})
	})
	p.wants(call(), true, "'worker mcp servers login far'")
	forgets.Wait()
	if p.LoggedIn(server) {
		t.Error("the renewal has brought back a login that was forgotten")
	}
}

// TestNoLogin: a login that does not take place is an error, and the earlier one still works.
func TestNoLogin(t *testing.T) {
	open := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.New() }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(open.Close)
	t.Cleanup(open.CloseClientConnections)
	a := newAuthServer(t)
	header := a.server()
	header.Headers = map[string]string{"Authorization": "Bearer x"}
	for want, server := range map[string]*mcpconfig.Server{
		"answers without a login":            {Name: "open", Transport: mcpconfig.HTTP, URL: open.URL, File: "test"},
		"has the header Authorization":       header,
		"only one over streamable HTTP does": {Name: "older", Transport: mcpconfig.SSE, URL: open.URL, File: "test"},
	} {
		p := newPlace(t, server)
		_, err := p.Login(t.Context(), server, p.ws, browser)
		if err == nil || !strings.Contains(err.Error(), want) || p.LoggedIn(server) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p := newPlace(t, a.server())
	p.login(p.opts.Own[0])
	if _, err := p.Login(t.Context(), p.opts.Own[0], p.ws, func(string) error { return errors.New("no browser") }); err == nil {
		t.Error("it has logged in without a browser")
	}
	p.wants(p.call("mcp__far__echo", "by the first login"), false, "first login")
}

// TestLoginInside: the login of a server on the internet leads to no host of this network that nobody has named.
func TestLoginInside(t *testing.T) {
	server := &mcpconfig.Server{Name: "far", Transport: mcpconfig.HTTP, URL: "https://mcp.invalid/mcp", File: "test"}
	warning := func(p *place, host string) string {
		dir := filepath.Join(p.opts.StateDir, "mcp-logins")
		kept := fmt.Sprintf(`{"client":{"ClientID":"c","Endpoint":{"TokenURL":"https://%s/token"}},"token":{"access_token":"a","refresh_token":"r","expiry":"2020-01-01T00:00:00Z"}}`, host)
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, server.Hash()+".json"), []byte(kept), 0o600)); err != nil {
			t.Fatal(err)
		}
		return strings.Join(p.Ready(t.Context(), nil, nil, p.ws), "\n")
	}
	for _, host := range []string{"10.0.0.1", "192.168.7.7", "[fd00::1]"} {
		if said := warning(newPlace(t, server), host); !strings.Contains(said, "an address of this machine or its network: 'worker mcp servers trust far --host "+host+":443' allows it") {
			t.Errorf("%s: %q", host, said)
		}
	}
	if said := warning(newPlace(t, server), "169.254.169.254"); !strings.Contains(said, "an address of this machine") {
		t.Errorf("a link-local address: %q", said)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range own {
		ip, _, err := net.ParseCIDR(at.String())
		if err != nil || ip.To4() == nil || !ip.IsGlobalUnicast() {
			continue
		}
		p := newPlace(t, server)
		if err := p.trust.Add(server, mcpclient.Trusted{Hosts: []string{ip.String()}}); err != nil {
			t.Fatal(err)
		}
		if said := warning(p, ip.String()+":1"); !strings.Contains(said, "refused") || strings.Contains(said, "an address of") { // by the machine: nothing listens there
			t.Errorf("a host that is named, %s: %q", ip, said)
		}
		break
	}
}
