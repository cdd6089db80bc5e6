package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/web"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.COM":                      "https://example.com/",
		"HTTPS://example.com:443/a/../b/./c?q=1#f": "https://example.com/b/c?q=1",
		"http://example.com:080/%7euser/%2e%2e/x":  "http://example.com/x",
		"http://example.com./a%2Fb%c3%a9":          "http://example.com/a%2Fb%C3%A9",
		"https://exämple.com/ä":                    "https://xn--exmple-cua.com/%C3%A4",
		"https://example.com:8443/a//b/":           "https://example.com:8443/a//b/",
		"https://[::FFFF:1.2.3.4]:80/":             "https://1.2.3.4:80/",
		`https://example.com/\..\secret`:           "https://example.com/%5C..%5Csecret",
		"https://example.com/?%71=a%20b":           "https://example.com/?q=a%20b",
		"https://example.com/%":                    "",
		"":                                         "",
		"ftp://example.com/":                       "",
		"file:///etc/passwd":                       "",
		"https://user:pw@example.com/":             "",
		"https:example.com":                        "",
		"https://":                                 "",
		"https://a b/":                             "",
		"https://127.1/":                           "",
		"https://0x7f000001/":                      "",
		"https://2130706433/":                      "",
		"https://0177.0.0.1/":                      "",
		"https://example.com:0/":                   "",
		"javascript:alert(1)":                      "",
		"https://example.com/\x00":                 "",
		"http://\x8c":                              "",
		"https://example.com/\xff":                 "",
	} {
		u, err := web.Canonical(text)
		got := ""
		if err == nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
			continue
		}
		if err == nil {
			again, err := web.Canonical(got)
			if err != nil || again.String() != got {
				t.Errorf("%q is not its own canonical form: %v, %v", got, again, err)
			}
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add("http://\x8c")
	f.Add("http://xn--zn7c/")
	f.Add("https://Example.com:443/a/../b?x=%7e#f")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := web.Canonical(text)
		if err != nil {
			return
		}
		again, err := web.Canonical(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q: %q, then %v (%v)", text, u, again, err)
		}
	})
}

func rules(t testing.TB, text string) *permission.Layers {
	t.Helper()
	set, err := permission.ParseJSON([]byte(text), "permissions.jsonc", nil)
	if err != nil {
		t.Fatal(err)
	}
	return &permission.Layers{Static: set}
}

// here are the rules with which tests reach their own servers.
const here = `{"*": "allow", "network": {"*": "ask", "127.0.0.1:*": "allow"}}`

// judge decides as the gate does where nobody can be asked.
func judge(layers *permission.Layers) func(context.Context, permission.Value) error {
	return func(_ context.Context, v permission.Value) error {
		d := layers.Decide([]permission.Value{v})
		if d.Action != permission.Allow {
			return errors.New(d.Reason())
		}
		return nil
	}
}

func call(t testing.TB, opts web.Options, layers *permission.Layers, args any) (tool.Result, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return web.Tools(opts)[0].Run(t.Context(), &tool.Call{SessionID: "ses", Args: raw, Rules: layers, Judge: judge(layers)})
}

// TestRefused has what rules and addresses refuse.
func TestRefused(t *testing.T) {
	at := serve(t, "text/plain", "secret")
	port := at[strings.LastIndexByte(at, ':')+1:]
	inside := func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("64:ff9b::7f00:1")}, nil
	}
	const open = `{"*": "allow", "network": {"*": "allow"}}`
	for _, c := range []struct{ name, url, rules, want string }{
		{"this machine", at, `{"*": "allow", "network": "ask"}`, "network"},
		{"a rule for every host", at, open, "network"},
		{"a name that leads inside", "http://far.example:" + port + "/", open, "an address of this network"},
		{"a rule about the host", at, `{"*": "allow", "network": {"127.0.0.1:*": "deny"}}`, "denied"},
		{"a rule about the network", at, `{"*": "allow", "network": "deny"}`, "network"},
		{"metadata", "http://169.254.169.254/latest", open, "network"},
		{"metadata by NAT64", "http://[64:ff9b::a9fe:a9fe]/latest", open, "network"},
		{"localhost", "http://localhost:" + port + "/", open, "network"},
	} {
		r, err := call(t, web.Options{Resolve: inside}, rules(t, c.rules), map[string]any{"url": c.url})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(r.Text, "secret") {
			t.Errorf("%s: %q, %v; want %q", c.name, r.Text, err, c.want)
		}
	}
}

// TestRebinding resolves a name once: the address that was judged is the one that is dialed.
func TestRebinding(t *testing.T) {
	asked := 0
	resolve := func(context.Context, string) ([]netip.Addr, error) {
		if asked++; asked == 1 {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil // RFC 5737: nobody is there
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the dial itself ends at once
	raw, _ := json.Marshal(map[string]any{"url": "http://far.example/"})
	layers := rules(t, `{"*": "allow"}`)
	_, err := web.Tools(web.Options{Resolve: resolve})[0].Run(ctx, &tool.Call{Args: raw, Rules: layers})
	if err == nil || asked > 1 {
		t.Errorf("%v, resolved %d times", err, asked)
	}
}

// TestRules has the values of URLs as rules see them.
func TestRules(t *testing.T) {
	fetch := web.Tools(web.Options{})[0]
	for _, c := range []struct {
		url, rules string
		want       permission.Action
	}{
		{"https://docs.example.com/a", `{"*": "ask", "web_fetch": {"https://docs.example.com/*": "allow"}}`, permission.Allow},
		{"https://DOCS.example.com:443/x/../a", `{"*": "ask", "web_fetch": {"https://docs.example.com/*": "allow"}}`, permission.Allow},
		{"https://docs.example.com.evil.org/a", `{"*": "ask", "web_fetch": {"https://docs.example.com/*": "allow"}}`, permission.Ask},
		{"https://evil.org/.example.com/", `{"*": "ask", "web_fetch": {"https://*.example.com/*": "allow"}}`, permission.Ask},
		{"https://evil.org/?u=https://x.example.com/", `{"*": "ask", "web_fetch": {"https://*.example.com/*": "allow"}}`, permission.Ask},
		{"https://a.example.com/", `{"*": "ask", "web_fetch": {"https://*.example.com/*": "allow"}}`, permission.Allow},
		{"https://example.com/%70rivate/x", `{"*": "allow", "web_fetch": {"*/private/*": "deny"}}`, permission.Deny},
		{"https://example.com/a/%2e%2e/private/x", `{"*": "allow", "web_fetch": {"*/private/*": "deny"}}`, permission.Deny},
		{"https://example.com/", `{"*": "deny", "web_fetch": "allow"}`, permission.Allow},
		{"https://example.com/", `{"*": "allow", "network": {"example.com:*": "deny"}}`, permission.Deny},
		{"https://example.com/", `{"*": "allow", "network": "deny"}`, permission.Deny},
	} {
		raw, _ := json.Marshal(map[string]any{"url": c.url})
		values, err := fetch.Values(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := rules(t, c.rules).Decide(values).Action; got != c.want {
			t.Errorf("%s by %s: %v, want %v", c.url, c.rules, got, c.want)
		}
	}
}
