package mcpconfig_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/internal/mcpconfig"
)

// forms are the files of each program, with the server that they mean.
var forms = []struct {
	program, text string
	want          mcpconfig.Server
}{
	{"", `{"mcpServers": {"s": {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "${KEY:-none}"}, "timeout": 5000}}}`,
		mcpconfig.Server{Transport: "stdio", Command: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"KEY": "${KEY:-none}"}, Timeout: 5 * time.Second}},
	{"", `{"mcpServers": {"s": {"type": "http", "url": "https://mcp.example.com", "headers": {"Authorization": "Bearer ${TOKEN}"}, "headersHelper": "get-headers"}}}`,
		mcpconfig.Server{Transport: "http", URL: "https://mcp.example.com", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}, HeadersHelper: "get-headers"}},
	{"claude", `{"projects": {}, "mcpServers": {"s": {"type": "sse", "url": "https://mcp.example.com/sse"}}}`,
		mcpconfig.Server{Transport: "sse", URL: "https://mcp.example.com/sse"}},
	{"codex", "[mcp_servers.s]\ncommand = \"uvx\"\nargs = [\"x\"]\nenv_vars = [\"A\", {name = \"B\", source = \"local\"}]\ntool_timeout_sec = 3\nenabled_tools = [\"a\"]\ndisabled_tools = [\"b\"]\n",
		mcpconfig.Server{Transport: "stdio", Command: "uvx", Args: []string{"x"}, Env: map[string]string{"A": "${A}", "B": "${B}"}, Timeout: 3 * time.Second, Only: []string{"a"}, Not: []string{"b"}}},
	{"codex", "[mcp_servers.s]\nurl = \"https://mcp.example.com\"\nbearer_token_env_var = \"TOKEN\"\nenabled = false\n[mcp_servers.s.http_headers]\nX = \"1\"\n[mcp_servers.s.env_http_headers]\nY = \"WHY\"\n",
		mcpconfig.Server{Transport: "http", URL: "https://mcp.example.com", Headers: map[string]string{"Authorization": "Bearer ${TOKEN}", "X": "1", "Y": "${WHY}"}, Off: true}},
	{"opencode", `{"mcp": {"s": {"type": "local", "command": ["bun", "x", "srv"], "environment": {"K": "{env:K}"}, "enabled": true}}} // a comment
`,
		mcpconfig.Server{Transport: "stdio", Command: "bun", Args: []string{"x", "srv"}, Env: map[string]string{"K": "${K}"}}},
	{"opencode", `{"mcp": {"s": {"type": "remote", "url": "https://mcp.example.com", "enabled": false}}}`,
		mcpconfig.Server{Transport: "http", URL: "https://mcp.example.com", Off: true}},
	{"vscode", `{"inputs": [], "servers": {"s": {"type": "stdio", "command": "node", "args": ["${workspaceFolder}/srv.js"], "env": {"K": "${env:K}"}}}}`,
		mcpconfig.Server{Transport: "stdio", Command: "node", Args: []string{"./srv.js"}, Env: map[string]string{"K": "${K}"}}},
	{"cursor", `{"mcpServers": {"s": {"url": "https://mcp.example.com", "headers": {"A": "${env:A}"}}}}`,
		mcpconfig.Server{Transport: "http", URL: "https://mcp.example.com", Headers: map[string]string{"A": "${A}"}}},
	{"gemini", `{"mcpServers": {"s": {"httpUrl": "https://mcp.example.com", "headers": {"A": "$TOKEN"}, "excludeTools": ["x"], "timeout": 600000}}}`,
		mcpconfig.Server{Transport: "http", URL: "https://mcp.example.com", Headers: map[string]string{"A": "${TOKEN}"}, Not: []string{"x"}, Timeout: 10 * time.Minute}},
	{"gemini", `{"mcpServers": {"s": {"url": "https://mcp.example.com/sse"}}}`, mcpconfig.Server{Transport: "sse", URL: "https://mcp.example.com/sse"}},
	{"copilot", `{"mcpServers": {"s": {"type": "local", "command": "x", "env": {"T": "${{ secrets.T }}", "U": "$U", "V": "${V:-d}"}, "tools": ["a", "b"]}}}`,
		mcpconfig.Server{Transport: "stdio", Command: "x", Env: map[string]string{"T": "${T}", "U": "${U}", "V": "${V:-d}"}, Only: []string{"a", "b"}}},
	{"copilot", `{"mcpServers": {"s": {"type": "local", "command": "x", "tools": ["*"]}}}`, mcpconfig.Server{Transport: "stdio", Command: "x"}},
}

func form(t *testing.T, program string) *mcpconfig.Form {
	t.Helper()
	for i := range mcpconfig.Forms {
		if mcpconfig.Forms[i].Program == program {
			return &mcpconfig.Forms[i]
		}
	}
	t.Fatalf("no form of %q", program)
	return nil
}

func TestForms(t *testing.T) {
	for _, c := range forms {
		servers, err := form(t, c.program).Parse([]byte(c.text))
		if err != nil || len(servers) != 1 {
			t.Errorf("%s: %v, %v", c.text, servers, err)
			continue
		}
		got := *servers[0]
		if got.Line == 0 {
			t.Errorf("%s: no line", c.text)
		}
		got.Name, got.Line = "", 0
		for _, s := range []*mcpconfig.Server{&got, &c.want} { // nil and empty mean the same
			if len(s.Args) == 0 {
				s.Args = nil
			}
			if len(s.Only) == 0 {
				s.Only = nil
			}
			if len(s.Not) == 0 {
				s.Not = nil
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.text, got, c.want)
		}
	}
	for _, name := range mcpconfig.Programs() {
		form(t, name)
	}
}

// TestRefused has servers that can't be read, beside one that can.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "stdio"}`: "has a command", `{"command": ""}`: "has a command", `{"command": "x", "url": "https://x"}`: "no command",
		`{"url": "ftp://x"}`: "no http or https URL", `{"url": "http://far.example.com"}`: "called by https", `{"url": "https://u:p@x"}`: "name or password",
		`{"type": "pigeon", "url": "https://x"}`: "none of stdio", `{"command": 7}`: "neither a text nor a list", `{"command": []}`: "neither a text nor a list",
		`{"command": "x", "env": {"A=B": "1"}}`: "can't be a variable", `{"command": "x", "env": {"A": {}}}`: "no text", `{"command": "x", "env": 7}`: "another kind",
		`{"url": "https://x", "headers": {"A:": "1"}}`: "can't be a header", `{"url": "https://x", "headers": {"A": "1\r\nB: 2"}}`: "can't be a header",
		`{"command": "x", "envFile": ".env"}`: "envFile", `{"command": "x\u0000y"}`: "NUL", `7`: "can't be read",
	} {
		servers, err := form(t, "").Parse([]byte(`{"mcpServers": {"bad": ` + text + `, "good": {"command": "x"}}}`))
		if err == nil || !strings.Contains(err.Error(), want) || len(servers) != 1 {
			t.Errorf("%s: %d servers, %v; want %q", text, len(servers), err, want)
		}
	}
	for _, text := range []string{"", "[]", "{", `{"mcpServers": []}`, `{"mcpServers": {"a\nb": {"command": "x"}}}`} {
		if _, err := form(t, "").Parse([]byte(text)); err == nil {
			t.Errorf("%q can be read", text)
		}
	}
}

// TestHash has all that decides about what runs in the hash.
func TestHash(t *testing.T) {
	base := func() *mcpconfig.Server {
		return &mcpconfig.Server{Name: "s", Transport: "stdio", Command: "x", Args: []string{"a"}, Env: map[string]string{"K": "v"}, Headers: map[string]string{"H": "v"}}
	}
	seen := map[string]string{base().Hash(): "itself"}
	for name, change := range map[string]func(*mcpconfig.Server){
		"name": func(s *mcpconfig.Server) { s.Name = "t" }, "command": func(s *mcpconfig.Server) { s.Command = "y" }, "args": func(s *mcpconfig.Server) { s.Args[0] = "b" },
		"env": func(s *mcpconfig.Server) { s.Env["K"] = "w" }, "variable": func(s *mcpconfig.Server) { s.Env["L"] = "v" }, "cwd": func(s *mcpconfig.Server) { s.Cwd = "d" },
		"url": func(s *mcpconfig.Server) { s.URL = "https://x" }, "header": func(s *mcpconfig.Server) { s.Headers["I"] = "v" }, "helper": func(s *mcpconfig.Server) { s.HeadersHelper = "x" },
		"transport": func(s *mcpconfig.Server) { s.Transport = "sse" },
	} {
		s := base()
		change(s)
		if other := seen[s.Hash()]; other != "" {
			t.Errorf("a change of %s has the hash of %s", name, other)
		}
		seen[s.Hash()] = name
	}
	s := base()
	s.File, s.Line, s.Repository = "elsewhere", 7, true
	if s.Hash() != base().Hash() {
		t.Error("where a server is written is in its hash")
	}
}

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) { return "value of " + name, name == "SET" }
	s := &mcpconfig.Server{Name: "s", Transport: "stdio", Command: "${SET}", Args: []string{"${UNSET:-d}", "$SET", "a${SET}b"}, Env: map[string]string{"K": "${SET}"}}
	got, err := s.Expand(lookup)
	if err != nil || got.Command != "value of SET" || strings.Join(got.Args, "|") != "d|$SET|avalue of SETb" || got.Env["K"] != "value of SET" {
		t.Errorf("%+v, %v", got, err)
	}
	if s.Command != "${SET}" || s.Env["K"] != "${SET}" {
		t.Error("the server itself was changed")
	}
	if names := s.Variables(); strings.Join(names, ",") != "SET,UNSET" {
		t.Errorf("its variables are %v", names)
	}
	for text, want := range map[string]string{"${UNSET}": "UNSET is not set", "${input:token}": "no variable that is known", "${}": "no variable"} {
		if _, err := (&mcpconfig.Server{Name: "s", Command: text}).Expand(lookup); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSelect(t *testing.T) {
	for text, want := range map[string]string{
		"[a, b]": "a,b", "a, b": "a,b", "- a\n- b: {command: x, args: [8080, true]}\n": "a,b!", "a: {type: http, url: 'https://x'}\nb:\n": "b,a!", "[]": "",
		"a: {type: local, command: x, env: {T: '${{ secrets.T }}'}, tools: ['*']}": "a!",
	} {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			t.Fatal(err)
		}
		s, err := mcpconfig.Select(node.Content[0])
		var names []string
		if s != nil {
			names = append(names, s.Names...)
			for _, i := range s.Inline {
				names = append(names, i.Name+"!")
			}
		}
		if err != nil || strings.Join(names, ",") != want {
			t.Errorf("%s: %v, %v; want %s", text, names, err, want)
		}
	}
}

func TestFiles(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, ".mcp.json"), `{"mcpServers": {"a": {"command": "x"}}}`)
	write(filepath.Join(home, ".codex/config.toml"), "[mcp_servers.b]\ncommand = \"x\"\n")
	names := func(from ...string) string {
		var all []string
		for _, f := range mcpconfig.Files(root, home, from) {
			servers, err := f.Read()
			if err != nil {
				t.Error(err)
			}
			for _, s := range servers {
				all = append(all, s.Name+" "+s.Source()+map[bool]string{true: " repository"}[s.Repository])
			}
		}
		return strings.Join(all, ", ")
	}
	if got := names(); got != "a .mcp.json:1 repository" {
		t.Error(got)
	}
	if got := names("codex"); got != "a .mcp.json:1 repository, b ~/.codex/config.toml:1" {
		t.Error(got)
	}
	if got := names("all"); !strings.Contains(got, "b ~/.codex") {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range forms {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i := range mcpconfig.Forms {
			servers, _ := mcpconfig.Forms[i].Parse([]byte(text))
			for _, s := range servers {
				if s.Name == "" || (s.Transport == mcpconfig.Stdio) != (s.Command != "") {
					t.Errorf("%+v", s)
				}
				_, _, _ = s.Hash(), s.What(), s.Variables()
				_, _ = s.Expand(func(string) (string, bool) { return "x", true })
			}
		}
	})
}
