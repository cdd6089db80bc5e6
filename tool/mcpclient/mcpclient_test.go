package mcpclient_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/mcpclient"
	"github.com/agentworker/worker/tool/mcpclient/mcptest"
)

// The test binary is the server of the tests, too.
func TestMain(m *testing.M) {
	// Without it each process that looks for races sleeps for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
		panic(err)
	}
	if os.Getenv("MCPTEST") != "" {
		mcptest.Main()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

var allowAll = &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}

// place is a workspace with servers.
type place struct {
	*mcpclient.Servers
	t     testing.TB
	ws    *tool.Workspace
	dir   string
	trust *mcpclient.Trust
	opts  mcpclient.Options
}

func newPlace(t testing.TB, servers ...*mcpconfig.Server) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ws, err := tool.OpenWorkspace(dir, &tool.Options{Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	trust := mcpclient.OpenTrust(filepath.Join(base, "trusted.json"), dir, os.LookupEnv)
	p := &place{t: t, ws: ws, dir: dir, trust: trust, opts: mcpclient.Options{
		Own: servers, Files: mcpconfig.Files(dir, "", nil), Root: dir, Trust: trust, StateDir: filepath.Join(base, "state"),
		Rules: func() (*permission.Layers, error) { return allowAll, nil }, Lookup: os.LookupEnv, Version: "test",
	}}
	p.Servers = mcpclient.New(p.opts)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		ws.Close()
	})
	return p
}

// self is a server that is this test binary.
func self(name string, args ...string) *mcpconfig.Server {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &mcpconfig.Server{Name: name, Transport: mcpconfig.Stdio, Command: exe, Args: args, Env: map[string]string{"MCPTEST": "1"}, File: "test"}
}

// tools are the tools that there are now, by name.
func (p *place) tools() map[string]tool.Tool {
	p.t.Helper()
	if warnings := p.Ready(p.t.Context(), nil, nil, p.ws); len(warnings) > 0 {
		p.t.Fatal(warnings)
	}
	return named(p.Tools(nil, p.ws)())
}

func named(tools []tool.Tool) map[string]tool.Tool {
	all := map[string]tool.Tool{}
	for _, t := range tools {
		all[t.Spec().Name] = t
	}
	return all
}

// call calls a tool by its name. An error comes as a result.
func (p *place) call(name, text string) tool.Result {
	p.t.Helper()
	return p.callIn(p.t.Context(), "ses_1", name, text)
}

func (p *place) callIn(ctx context.Context, session, name, text string) tool.Result {
	p.t.Helper()
	t := p.tools()[name]
	if t == nil {
		p.t.Fatalf("there is no tool %s", name)
	}
	args, _ := json.Marshal(map[string]string{"text": text})
	r, err := t.Run(ctx, &tool.Call{SessionID: session, Args: args, Rules: allowAll, Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	if err != nil {
		return tool.Errorf("%v", err)
	}
	return r
}

func (p *place) wants(r tool.Result, isError bool, parts ...string) {
	p.t.Helper()
	for _, part := range parts {
		if r.IsError != isError || !strings.Contains(r.Text, part) {
			p.t.Errorf("error=%v %.300q; want error=%v with %q", r.IsError, r.Text, isError, part)
		}
	}
}

func TestCalls(t *testing.T) {
	p := newPlace(t, self("t"))
	p.wants(p.call("mcp__t__echo", "hello"), false, "hello 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	p.wants(p.call("mcp__t__fail", ""), true, "it did not work")
	p.wants(p.call("mcp__t__spew", ""), false, "spewed")
	pid := p.call("mcp__t__pid", "").Text
	p.wants(p.call("mcp__t__refuse", ""), true, "these arguments are wrong")
	p.wants(p.call("mcp__t__pid", ""), false, pid) // a server that refuses a call goes on
	lies := p.tools()["mcp__t__lies"].Spec()
	if strings.ContainsAny(lies.Description, "\x1b\u202e") || lies.ReadOnly || string(lies.InputSchema) != `{"type":"object"}` {
		t.Errorf("what a server says of its tool is not cleaned: %+v", lies)
	}
}

// TestEnds kills servers in each of their states.
func TestEnds(t *testing.T) {
	p := newPlace(t, self("t"))
	p.wants(p.call("mcp__t__crash", ""), true, "ended while it worked", "exit status 3", "it went wrong in here")
	p.wants(p.call("mcp__t__echo", "again"), false, "again") // the first time it begins anew at once
	p.wants(p.call("mcp__t__crash", ""), true, "exit status 3")
	p.wants(p.call("mcp__t__echo", "again"), true, "is started again in")

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	p.wants(p.callIn(ctx, "ses_2", "mcp__t__hang", ""), true, "deadline")
	p.wants(p.callIn(t.Context(), "ses_2", "mcp__t__echo", "after"), false, "after")
	if err := p.End("ses_2"); err != nil {
		t.Error(err)
	}
}

// TestBackoff waits before it starts a server again that does not start.
func TestBackoff(t *testing.T) {
	p := newPlace(t, self("t"))
	echo := p.tools()["mcp__t__echo"]
	p.opts.Own[0].Env["MCPTEST_EXIT"] = "1" // from now on it ends at once
	run := func() string {
		_, err := echo.Run(t.Context(), &tool.Call{SessionID: "ses_b", Args: json.RawMessage(`{}`), Rules: allowAll})
		if err == nil {
			t.Fatal("a server that ends at once has answered")
		}
		return err.Error()
	}
	for i, want := range []string{"does not start", "does not start", "is started again in"} {
		if got := run(); !strings.Contains(got, want) {
			t.Errorf("call %d: %s; want %q", i+1, got, want)
		}
	}
	if err := p.End("ses_b"); err != nil {
		t.Error(err)
	}
}

// TestNoStart has servers that do not start as they should.
func TestNoStart(t *testing.T) {
	for _, c := range []struct {
		server *mcpconfig.Server
		want   string
	}{
		{self("t", "exits"), "no such database"},
		{self("t", "rubbish"), "does not start"},
		{&mcpconfig.Server{Name: "t", Transport: mcpconfig.Stdio, Command: "/no/such/program", File: "test"}, "/no/such/program"},
		{&mcpconfig.Server{Name: "t", Transport: mcpconfig.Stdio, Command: "x", Args: []string{"${NO_SUCH_VARIABLE}"}, File: "test"}, "NO_SUCH_VARIABLE is not set"},
		{&mcpconfig.Server{Name: "t", Transport: mcpconfig.HTTP, URL: "http://127.0.0.1:1/mcp", File: "test"}, "does not start"},
	} {
		p := newPlace(t, c.server)
		warnings := p.Ready(t.Context(), nil, nil, p.ws)
		if len(warnings) != 1 || !strings.Contains(warnings[0], c.want) {
			t.Errorf("%s: %q, want %q", c.server.What(), warnings, c.want)
		}
	}
	p := newPlace(t, self("t", "silent"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if warnings := p.Ready(ctx, nil, nil, p.ws); len(warnings) != 1 {
		t.Errorf("a server that never answers: %q", warnings)
	}
}

// TestNotNeeded starts no server whose tools an agent's rules deny, and none again that has just
// failed.
func TestNotNeeded(t *testing.T) {
	p := newPlace(t, self("t", "exits"))
	rules := func(more ...permission.Rule) *permission.Ruleset {
		return permission.MustRuleset(append([]permission.Rule{{Tool: "*", Pattern: "*", Action: permission.Deny}}, more...)...)
	}
	if warnings := p.Ready(t.Context(), nil, rules(), p.ws); len(warnings) > 0 {
		t.Errorf("a server was asked that is not needed: %q", warnings)
	}
	first := p.Ready(t.Context(), nil, rules(permission.Rule{Tool: "t_echo", Pattern: "*", Action: permission.Allow}), p.ws)
	second := p.Ready(t.Context(), nil, nil, p.ws)
	if len(first) != 1 || !slices.Equal(first, second) {
		t.Errorf("%q, then %q", first, second)
	}
}

// TestHeld holds a server to the rules of its session.
func TestHeld(t *testing.T) {
	p := newPlace(t, self("t"))
	if held, why := p.tools()["mcp__t__read"].(tool.Sandboxed).Held("ses_1", allowAll); !held {
		t.Skip("no sandbox here: " + why)
	}
	if err := os.WriteFile(filepath.Join(p.dir, ".env"), []byte("KEY=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(p.dir), "outside")
	if err := os.WriteFile(outside, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rules := &permission.Layers{Static: permission.MustRuleset(
		permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow},
		permission.Rule{Tool: "read_file", Pattern: ".env", Action: permission.Deny},
		permission.Rule{Tool: "write_file", Pattern: "*", Action: permission.Deny},
		permission.Rule{Tool: "edit_file", Pattern: "*", Action: permission.Deny},
	)}
	run := func(name, text string) tool.Result {
		args, _ := json.Marshal(map[string]string{"text": text})
		r, err := p.tools()[name].Run(t.Context(), &tool.Call{SessionID: "ses_h", Args: args, Rules: rules})
		if err != nil {
			return tool.Errorf("%v", err)
		}
		return r
	}
	p.wants(run("mcp__t__read", ".env"), true, "")
	p.wants(run("mcp__t__read", outside), true, "no such file")
	p.wants(run("mcp__t__write", "new.txt"), true, "")
	if _, err := os.Stat(filepath.Join(p.dir, "new.txt")); err == nil {
		t.Error("a server has written where its session may not")
	}
	reached := false
	listener := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer listener.Close()
	p.wants(run("mcp__t__fetch", listener.URL), false, "403", "may not reach 127.0.0.1:", "worker mcp servers trust t --host")
	if reached {
		t.Error("a server has reached this machine")
	}
}

// TestHosts lets a server reach the hosts that its trust names, unless a rule denies them.
func TestHosts(t *testing.T) {
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }))
	defer listener.Close()
	host := strings.TrimPrefix(listener.URL, "http://")
	p := newPlace(t, self("t"))
	if held, why := p.tools()["mcp__t__read"].(tool.Sandboxed).Held("ses_1", allowAll); !held {
		t.Skip("no sandbox here: " + why)
	}
	if err := p.trust.Add(p.opts.Own[0], mcpclient.Trusted{Hosts: []string{host}}); err != nil {
		t.Fatal(err)
	}
	p.wants(p.callIn(t.Context(), "ses_2", "mcp__t__fetch", listener.URL), false, "200 OK reached")
	deny := &permission.Layers{Static: permission.MustRuleset(
		permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow}, permission.Rule{Tool: "network", Pattern: "127.*", Action: permission.Deny},
	)}
	args, _ := json.Marshal(map[string]string{"text": listener.URL})
	r, err := p.tools()["mcp__t__fetch"].Run(t.Context(), &tool.Call{SessionID: "ses_3", Args: args, Rules: deny})
	if err != nil || !strings.Contains(r.Text, "403") {
		t.Errorf("a host that a rule denies: %q, %v", r.Text, err)
	}
}

// TestChanges follows a list of tools that changes while a session works.
func TestChanges(t *testing.T) {
	p := newPlace(t, self("t"))
	tools := p.Tools(nil, p.ws)
	p.wants(p.call("mcp__t__change", ""), false, "changed")
	deadline := time.After(10 * time.Second)
	for named(tools())["mcp__t__added"] == nil {
		select {
		case <-deadline:
			t.Fatal("the new tool is not offered")
		case <-time.After(5 * time.Millisecond):
		}
	}
	p.wants(p.call("mcp__t__added", ""), false, "added")
	first := tools()
	if second := tools(); &first[0] != &second[0] {
		t.Error("the tools are made anew although nothing has changed")
	}
}

// TestKept begins with the kept list of a server, which is not started for it.
func TestKept(t *testing.T) {
	p := newPlace(t, self("t", "many=300"))
	if got := len(p.tools()); got < 310 {
		t.Fatalf("%d tools", got)
	}
	server := *p.opts.Own[0]
	p.opts.Own = []*mcpconfig.Server{&server}
	next := mcpclient.New(p.opts)
	defer next.Close()
	if got := len(next.Tools(nil, p.ws)()); got < 310 {
		t.Errorf("the next process knows %d tools", got)
	}
}

func TestNames(t *testing.T) {
	for _, c := range [][3]string{
		{"github", "create_issue", "mcp__github__create_issue"},
		{"My Server", "Do-It", "mcp__my_server__do_it"},
		{"a__b", "_c", "mcp__a_b___c"},
		{"ü", "ä", "mcp__server___"},
	} {
		if got := mcpclient.ToolName(c[0], c[1]); got != c[2] {
			t.Errorf("%s of %s is %s, want %s", c[1], c[0], got, c[2])
		}
	}
	a, b := mcpclient.ToolName("s", strings.Repeat("x", 100)+"a"), mcpclient.ToolName("s", strings.Repeat("x", 100)+"b")
	if len(a) > 64 || a == b {
		t.Errorf("long names: %s, %s", a, b)
	}
	// No server has tools among those of another one.
	p := newPlace(t, self("a"), self("a_echo"))
	if tools := p.tools(); tools["mcp__a__echo"] == nil || tools["mcp__a_echo__echo"] == nil {
		t.Error("tools are missing")
	}
	p = newPlace(t, self("a"), self("a_tool"), self("A"))
	var names []string
	for name := range p.tools() {
		names = append(names, name)
	}
	slices.Sort(names)
	if slices.Contains(names, "mcp__a__tool_x") {
		t.Errorf("%v", names)
	}
}

// TestValues has what rules see of a call.
func TestValues(t *testing.T) {
	p := newPlace(t, self("t"))
	echo := p.tools()["mcp__t__echo"]
	decide := func(args string, rules ...permission.Rule) permission.Action {
		t.Helper()
		values, err := echo.Values(json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		layers := &permission.Layers{Static: permission.MustRuleset(append([]permission.Rule{{Tool: "mcp__t__*", Pattern: "*", Action: permission.Allow}}, rules...)...)}
		return layers.Decide(values).Action
	}
	deny := func(pattern string) permission.Rule {
		return permission.Rule{Tool: "t_echo", Pattern: pattern, Action: permission.Deny}
	}
	for _, c := range []struct {
		args, pattern string
		want          permission.Action
	}{
		{`{"repo":"owner/private"}`, "*owner/private*", permission.Deny},
		{`{"repo":"owner\/private"}`, "*owner/private*", permission.Deny},
		{`{"a":[{"b":"\u006fwner/private"}]}`, "owner/private", permission.Deny},
		{`{"repo":"owner/public"}`, "*owner/private*", permission.Allow},
		{`{"z":1,"a":"<x>"}`, `{"a":"<x>","z":1}`, permission.Deny},
	} {
		if got := decide(c.args, deny(c.pattern)); got != c.want {
			t.Errorf("%s by %s: %v, want %v", c.args, c.pattern, got, c.want)
		}
	}
	for _, args := range []string{`[]`, `"x"`, `{} {}`, `{`} {
		if _, err := echo.Values(json.RawMessage(args)); err == nil {
			t.Errorf("%s are arguments", args)
		}
	}
}
