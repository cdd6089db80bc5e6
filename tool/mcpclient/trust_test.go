package mcpclient_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/mcpclient"
)

// TestTrust has servers of a repository, which run once a person has trusted them as they
// are.
func TestTrust(t *testing.T) {
	p := newPlace(t)
	write := func(args string) {
		t.Helper()
		s := self("repo")
		text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"repo": map[string]any{"command": s.Command, "args": []string{args}, "env": s.Env}}})
		if err := os.WriteFile(filepath.Join(p.dir, ".mcp.json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	state := func() mcpclient.State {
		t.Helper()
		all, _ := p.Selected(nil)
		if len(all) != 1 {
			t.Fatalf("%d servers", len(all))
		}
		return all[0].State
	}
	write("first")
	if got := state(); got != mcpclient.Untrusted || len(p.tools()) != 0 {
		t.Fatalf("a server that nobody trusts is %s, with %d tools", got, len(p.tools()))
	}
	if _, err := p.List(t.Context(), must(p.Configured())[0], p.ws); err == nil {
		t.Error("a server that nobody trusts has run")
	}
	if err := p.trust.Add(must(p.Configured())[0], mcpclient.Trusted{Allow: true, Hosts: []string{"api.example.com"}}); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != mcpclient.Ready || p.tools()["mcp__repo__echo"] == nil {
		t.Fatalf("a trusted server is %s", got)
	}
	if rules := p.trust.Rules(); len(rules) != 1 || rules[0].Tool != "mcp__repo__*" || rules[0].Action != permission.Allow {
		t.Errorf("its rules are %v", rules)
	}
	tools := p.Tools(nil, p.ws)
	before := tools()
	write("another argument")
	if got := state(); got != mcpclient.Changed || len(tools()) != 0 || len(before) == 0 {
		t.Errorf("a server that has changed is %s, with %d tools", got, len(tools()))
	}
	again := mcpclient.OpenTrust(filepath.Join(filepath.Dir(p.dir), "trusted.json"), p.dir, os.LookupEnv)
	if known, err := again.Forget("repo"); !known || err != nil {
		t.Errorf("forgetting it: %v, %v", known, err)
	}
	if got := state(); got != mcpclient.Untrusted {
		t.Errorf("a forgotten server is %s", got)
	}
	p.opts.Always = true
	if all, _ := mcpclient.New(p.opts).Selected(nil); all[0].State != mcpclient.Ready {
		t.Errorf("with all trusted it is %s", all[0].State)
	}
	for _, host := range []string{"", "https://x", "a b", "*"} {
		if err := p.trust.Add(self("x"), mcpclient.Trusted{Hosts: []string{host}}); err == nil {
			t.Errorf("%q is taken for a host", host)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
