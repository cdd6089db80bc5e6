package mcpclient_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/mcpclient"
	"github.com/agentworker/worker/tool/mcpclient/mcptest"
)

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
		p.t.Fatal(err)
	}
}

// TestHelperScript: the script that a headersHelper names is part of the trust. Once it changes, it does
// not run.
func TestHelperScript(t *testing.T) {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return mcptest.New() }, nil))
	defer web.Close()
	defer web.CloseClientConnections()
	for _, line := range []string{"./scripts/h.sh", "sh scripts/h.sh", `sh "$PWD/scripts/h.sh"`, "sh ${FOLDER_OF_TEST:-scripts}/h.sh"} {
		t.Run(line, func(t *testing.T) {
			server := &mcpconfig.Server{Name: "far", Transport: mcpconfig.HTTP, URL: web.URL, HeadersHelper: line, Repository: true, File: "test"}
			p := newPlace(t, server)
			p.write("scripts/h.sh", "#!/bin/sh\necho '{}'\n")
			if err := p.trust.Add(server, mcpclient.Trusted{}); err != nil {
				t.Fatal(err)
			}
			if files := p.trust.Protected(server); !slices.Equal(files, []string{filepath.Join(p.dir, "scripts/h.sh")}) {
				t.Errorf("agents don't write %q", files)
			}
			p.wants(p.call("mcp__far__echo", "with headers"), false, "with headers")
			kept := p.tools()["mcp__far__echo"]
			p.write("scripts/h.sh", "#!/bin/sh\ntouch ESCAPED\necho '{}'\n")
			if st := p.Status(server); st.State != mcpclient.Changed || !strings.HasPrefix(st.Why, "scripts/h.sh, which it runs, is no longer what you have trusted; 'worker mcp servers trust far'") {
				t.Errorf("it is %s: %s", st.State, st.Why)
			}
			if _, err := kept.Run(t.Context(), &tool.Call{SessionID: "ses_2", Args: []byte(`{"text":"x"}`), Rules: allowAll}); err == nil || !strings.Contains(err.Error(), "scripts/h.sh") {
				t.Errorf("a call that was begun: %v", err)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "ESCAPED")); err == nil {
				t.Error("the changed script has run")
			}
		})
	}
}

// TestProgramScript: the files that a program and its arguments name are part of a trust that gives more
// than a session has.
func TestProgramScript(t *testing.T) {
	p := newPlace(t)
	p.write("srv.py", "1")
	p.write("tools/srv.py", "1")
	gives := map[string]mcpclient.Trusted{
		"host": {Hosts: []string{"example.com"}}, "read": {Read: []string{"/opt"}}, "write": {Write: []string{"/opt"}}, "allow": {Allow: true}, "": {},
	}
	for args, file := range map[string]string{
		"srv.py": "srv.py", "-m tools.srv": "tools/srv.py", "-c\x00python3 srv.py": "srv.py", "--script=tools/srv.py": "tools/srv.py", "${FOLDER_OF_TEST:-tools}/srv.py": "tools/srv.py",
		filepath.Join(p.dir, "srv.py"): "srv.py",
	} {
		for name, said := range gives {
			split := strings.Fields(args)
			if before, after, ok := strings.Cut(args, "\x00"); ok {
				split = []string{before, after}
			}
			server := &mcpconfig.Server{Name: "s", Transport: mcpconfig.Stdio, Command: "/usr/bin/python3", Args: split, Repository: true, File: "test"}
			p.write(file, "1")
			if err := p.trust.Add(server, said); err != nil {
				t.Fatal(err)
			}
			if st := p.Status(server); st.State != mcpclient.Ready {
				t.Errorf("%q %s: trusted, it is %s: %s", args, name, st.State, st.Why)
			}
			var protected []string
			want := mcpclient.Ready
			if name != "" {
				protected, want = []string{filepath.Join(p.dir, file)}, mcpclient.Changed
			}
			if got := p.trust.Protected(server); !slices.Equal(got, protected) {
				t.Errorf("%q %s: agents don't write %q, want %q", args, name, got, protected)
			}
			p.write(file, "2")
			if st := p.Status(server); st.State != want || want == mcpclient.Changed && len(st.Trusted.Hosts) > 0 {
				t.Errorf("%q %s: with another file it is %s with %v, want %s", args, name, st.State, st.Trusted, want)
			}
		}
	}
}

// TestProgramScriptInWorktree: a session in a worktree runs the files there, which have to be the trusted ones.
func TestProgramScriptInWorktree(t *testing.T) {
	server := self("s", "srv.py")
	p := newPlace(t, server)
	p.write("srv.py", "1")
	if err := p.trust.Add(server, mcpclient.Trusted{Allow: true}); err != nil {
		t.Fatal(err)
	}
	worktree := t.TempDir()
	ws, err := tool.OpenWorkspace(worktree, &tool.Options{Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for text, want := range map[string]string{"1": "", "2": "srv.py, which it runs, is no longer what you have trusted"} {
		if err := os.WriteFile(filepath.Join(worktree, "srv.py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := p.List(t.Context(), server, ws)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %s: %v", text, err)
		}
	}
}

// TestAllowOfAnother: the calls of a server are not allowed by what was said of another one of its name.
func TestAllowOfAnother(t *testing.T) {
	own := self("x", "mine")
	p := newPlace(t, own)
	other := self("x", "the repository's")
	if err := p.trust.Add(other, mcpclient.Trusted{}); err != nil {
		t.Fatal(err)
	}
	if st := p.Status(own); st.State != mcpclient.Ready {
		t.Errorf("beside a server that is not allowed, it is %s", st.State)
	}
	if err := p.trust.Add(other, mcpclient.Trusted{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if st := p.Status(own); st.State != mcpclient.Changed || !strings.Contains(st.Why, "worker mcp servers forget x") || len(p.Tools(nil, p.ws)()) != 0 {
		t.Errorf("beside a server whose calls are allowed, it is %s: %s", st.State, st.Why)
	}
	if err := p.trust.Add(own, mcpclient.Trusted{Allow: true}); err != nil {
		t.Fatal(err)
	}
	if st := p.Status(own); st.State != mcpclient.Ready {
		t.Errorf("allowed itself, it is %s", st.State)
	}
}

// TestCacheOfWorkspace: the same server has a folder of its own in each workspace.
func TestCacheOfWorkspace(t *testing.T) {
	cache := t.TempDir()
	for want := 1; want <= 2; want++ {
		p := newPlace(t, self("s"))
		p.opts.CacheDir = cache
		for range 2 {
			servers := mcpclient.New(p.opts)
			if _, err := servers.List(t.Context(), p.opts.Own[0], p.ws); err != nil {
				t.Fatal(err)
			}
			if err := servers.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if entries, err := os.ReadDir(cache); err != nil || len(entries) != want {
			t.Errorf("%d workspaces have %d folders, %v", want, len(entries), err)
		}
	}
}
