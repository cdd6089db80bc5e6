package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// exec runs a command of the shell with the rules of a text.
func (p *place) exec(rules, command string, change func(*tool.Call)) tool.Result {
	p.t.Helper()
	raw, err := json.Marshal(args{"command": command})
	if err != nil {
		p.t.Fatal(err)
	}
	call := &tool.Call{SessionID: "ses", Args: raw, Rules: layersOf(p.t, rules)}
	if change != nil {
		change(call)
	}
	r, err := p.tools["shell_exec"].Run(p.t.Context(), call)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	return r
}

const files = `{"shell_exec": "allow", "read_file": {"*": "allow", "*.env": "deny", "secrets/**": "ask"}, "write_file": {"*": "allow", "locked.txt": "deny", "*.env": "deny"}, "edit_file": "allow"}`

// TestSandbox says what a command can touch, and what the model is told where it
// can't.
func TestSandbox(t *testing.T) {
	if !sandbox.Detect().Namespaces {
		t.Fatal("this system makes no user namespaces: ", sandbox.Detect().NoNamespaces)
	}
	p := newPlace(t, &tool.Options{Sandbox: tool.SandboxOptions{Protected: []string{".agents/agents"}}}, map[string]string{
		".env": "KEY=hidden\n", "secrets/a": "hidden\n", "locked.txt": "locked\n", "open.txt": "open\n",
	})
	for _, c := range []struct {
		name, rules, command string
		approved             bool
		want                 []string
		not                  string
	}{
		{"a denied file", files, "cat ./.env; cat open.txt", false, []string{"open\n", "(the sandbox refused to open .env: read_file \".env\" is denied by the rule read_file: {\"*.env\": deny} (permissions.jsonc:1)"}, "hidden"},
		{"another name for it", files, "ln .env x; cp .env y; cat x y", false, nil, "hidden"},
		{"what is asked about", files, "cat secrets/a", false, []string{"secrets"}, "hidden"},
		{"what is asked about, approved", files, "cat secrets/a", true, []string{"hidden\n(exit status 0)"}, ""},
		{"denied, approved", files, "cat .env", true, nil, "hidden"},
		{"a file that is not to be written", files, "echo new > locked.txt", true, []string{"(the sandbox refused to", "locked.txt", "{\"locked.txt\": deny}"}, ""},
		{"a hidden file, removed", files, "rm -f .env", false, []string{`(the sandbox refused to move or remove .env: read_file ".env" is denied by the rule read_file: {"*.env": deny} (permissions.jsonc:1)`}, "hidden"},
		{"one of several names", files, `python3 -c 'import os; os.unlink("locked.txt")'`, true, []string{"(the sandbox refused to move or remove locked.txt: ", "{\"locked.txt\": deny}"}, "open.txt"},
		{"a folder with a denied file, removed", files, "mkdir -p d/e && rm -rf secrets d", false, []string{"(the sandbox refused to move or remove secrets: read_file \"secrets\" is asked about"}, "d/e"},
		{"the workspace, moved", files, `rm -rf "$PWD/../$(basename "$PWD")"/../$(basename "$PWD"); rmdir "$PWD"`, true, []string{"(the sandbox refused to move or remove the workspace: commands work in it)"}, ""},
		{"a new file", files, "echo new > new.txt && cat new.txt", false, []string{"new\n(exit status 0)"}, ""},
		{"a name that is not to be made", files, "echo x > a.env || echo refused", false, []string{"refused"}, ""},
		{"agent files", files, "mkdir -p .agents/agents && echo x > .agents/agents/x.md || echo refused", true, []string{"refused", ".agents"}, ""},
		{"no right to write", `{"shell_exec": "allow", "read_file": "allow"}`, "touch x", false, []string{"(the sandbox refused to"}, ""},
		{"no right to read", `{"shell_exec": "allow"}`, "cat open.txt", false, []string{"(the sandbox refused to open the workspace: No rule matches"}, "open\n"},
		{"no network", files, "exec 3<>/dev/tcp/192.0.2.1/80", false, []string{"nreachable"}, ""},
		{"the worker's own process", files, "cat /proc/" + fmt.Sprint(os.Getpid()) + "/environ", false, nil, "PATH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := p.exec(c.rules, c.command, func(call *tool.Call) { call.Approved = c.approved })
			for _, want := range c.want {
				if !strings.Contains(r.Text, want) {
					t.Errorf("%s\ngot:\n%s\nwant in it:\n%s", c.command, r.Text, want)
				}
			}
			if c.not != "" && strings.Contains(r.Text, c.not) {
				t.Errorf("%s\ngot:\n%s\nwhich holds %q", c.command, r.Text, c.not)
			}
		})
	}
	if got := p.read("locked.txt"); got != "locked\n" {
		t.Errorf("locked.txt is %q", got)
	}
	for _, name := range []string{"a.env", ".agents/agents/x.md", "x"} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			t.Errorf("%s has been made", name)
		}
	}
}

// TestSandboxSession checks that calls of a session share /tmp and loopback, and
// that nothing of them is left when it ends.
func TestSandboxSession(t *testing.T) {
	dir := realTempDir(t)
	p := newPlace(t, &tool.Options{Sandbox: tool.SandboxOptions{Dir: dir}}, nil)
	p.exec(files, "echo kept > /tmp/x", nil)
	if r := p.exec(files, "cat /tmp/x", nil); !strings.HasPrefix(r.Text, "kept\n") {
		t.Errorf("the second call sees %q in /tmp", r.Text)
	}
	if r := p.exec(files, "cat /tmp/x", func(c *tool.Call) { c.SessionID = "other" }); !r.IsError {
		t.Errorf("another session sees %q in /tmp", r.Text)
	}
	if _, err := exec.LookPath("python3"); err == nil {
		server := make(chan tool.Result)
		go func() {
			server <- p.exec(files, "mkfifo ready; timeout 20 python3 -c \"import http.server,socketserver;s=socketserver.TCPServer(('127.0.0.1',8123),http.server.SimpleHTTPRequestHandler);open('ready','w').write('x');s.handle_request()\"", nil)
		}()
		r := p.exec(files, "until [ -p ready ]; do sleep 0.05; done; cat ready; python3 -c \"import urllib.request;print(urllib.request.urlopen('http://127.0.0.1:8123/').status)\"", nil)
		if !strings.Contains(r.Text, "200") {
			t.Errorf("the server of another call: %s", r.Text)
		}
		<-server
	}
	for _, id := range []string{"ses", "other", "none"} {
		if err := p.tools["shell_exec"].(tool.Sandboxed).EndSession(id); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in %s: %v (%v)", dir, left, err)
	}
}

// TestSandboxSweep: a worker removes the leftovers of a killed one, and nothing of a
// living one.
func TestSandboxSweep(t *testing.T) {
	dir := realTempDir(t)
	options := &tool.Options{Sandbox: tool.SandboxOptions{Dir: dir}}
	p := newPlace(t, options, nil)
	p.exec(files, "echo kept > /tmp/x", nil)
	dead := filepath.Join(dir, "sandbox-1", "tmp")
	if err := os.MkdirAll(dead, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sandbox-1.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := tool.OpenWorkspace(t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Stat(filepath.Dir(dead)); err == nil {
		t.Errorf("%s is still there", dead)
	}
	if r := p.exec(files, "cat /tmp/x", nil); !strings.HasPrefix(r.Text, "kept\n") {
		t.Errorf("a session that lives: %q", r.Text)
	}
}

// TestSandboxNetwork asks the gate about each host, once for each call, and
// waits for the answer however long it takes.
func TestSandboxNetwork(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("curl is needed: ", err)
	}
	const rules = `{"shell_exec": "allow", "read_file": "allow", "network": "ask"}`
	p := newPlace(t, nil, nil)
	var asked []string
	r := p.exec(rules, "for i in 1 2; do curl -sS -m 20 http://host.invalid:81/ 2>&1; done", func(c *tool.Call) {
		c.Judge = func(_ context.Context, v permission.Value) error {
			asked = append(asked, v.Tool+" "+v.Text)
			return errors.New("the user denied it")
		}
	})
	if len(asked) != 2 || asked[0] != "network host.invalid:81" || !strings.Contains(r.Text, "(the sandbox refused to reach host.invalid:81: the user denied it)") {
		t.Errorf("asked about %q, got:\n%s", asked, r.Text)
	}
	if r := p.exec(rules, "curl -sS -m 20 http://host.invalid:81/ 2>&1", nil); !strings.Contains(r.Text, "nobody judges") {
		t.Errorf("without a judge:\n%s", r.Text)
	}
}

// TestNotHeld: where no sandbox holds the rules, the tool says why.
func TestNotHeld(t *testing.T) {
	support := sandbox.Detect()
	support.Namespaces, support.Landlock, support.NoNamespaces = false, 0, "they are switched off"
	for _, c := range []struct {
		mode sandbox.Mode
		why  string
	}{{sandbox.Auto, "they are switched off"}, {sandbox.Off, "--sandbox=off"}} {
		p := newPlace(t, &tool.Options{Sandbox: tool.SandboxOptions{Mode: c.mode, Support: &support}}, map[string]string{"a.txt": "text\n"})
		held, why := p.tools["shell_exec"].(tool.Sandboxed).Held("ses", layersOf(t, files))
		if held || !strings.Contains(why, c.why) {
			t.Errorf("%s: held is %v, %q", c.mode, held, why)
		}
		if r := p.exec(files, "cat a.txt", nil); r.Text != "text\n(exit status 0)" {
			t.Errorf("%s: %q", c.mode, r.Text)
		}
	}
	_, err := tool.OpenWorkspace(t.TempDir(), &tool.Options{Sandbox: tool.SandboxOptions{Mode: sandbox.Required, Support: &support}})
	if err == nil || !strings.Contains(err.Error(), "they are switched off") {
		t.Errorf("a sandbox that is required: %v", err)
	}
}
