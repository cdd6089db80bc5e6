//go:build hosts && linux

package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/internal/chromium"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/tool"
)

// fromNPM returns the path of a server that .ci/hosts has installed.
func fromNPM(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: .ci/hosts installs it, in a folder whose node_modules/.bin belongs into PATH", err)
	}
	return path
}

// program is a server of npm as a file names it: by its name, which PATH leads to.
func program(t *testing.T, name string, args ...string) *mcpconfig.Server {
	fromNPM(t, name)
	return &mcpconfig.Server{Name: "npm", Transport: mcpconfig.Stdio, Command: name, Args: args, File: "test"}
}

// do calls a tool of the server with arguments in JSON, and returns what the model reads.
func (p *place) do(name, arguments string) tool.Result {
	p.t.Helper()
	t := p.tools()["mcp__npm__"+name]
	if t == nil {
		p.t.Fatalf("there is no tool %s among %d", name, len(p.tools()))
	}
	began := time.Now()
	r, err := t.Run(p.t.Context(), &tool.Call{
		SessionID: "ses_npm", Args: json.RawMessage(arguments), Rules: allowAll,
		Ask: func(context.Context, tool.Inquiry) (tool.Reply, error) { return tool.Reply{Declined: true}, nil },
	})
	if err != nil {
		r = tool.Errorf("%v", err)
	}
	p.t.Logf("%s took %s: %.200q", name, time.Since(began).Round(time.Millisecond), r.Text)
	return r
}

// everything calls what the reference server has of everything.
func everything(p *place) {
	p.t.Helper()
	p.wants(p.do("echo", `{"message":"hello"}`), false, "Echo: hello")
	p.wants(p.do("get_sum", `{"a":2,"b":40}`), false, "42")
	p.wants(p.do("get_structured_content", `{"location":"New York"}`), false, "temperature")
	p.wants(p.do("trigger_long_running_operation", `{"duration":1,"steps":4}`), false, "completed")
	p.wants(p.do("get_tiny_image", `{}`), false, "image 1", "invalid checksum") // it has a broken picture
	p.wants(p.do("get_resource_links", `{"count":2}`), false, "(a resource: ")
	p.wants(p.do("echo", `{"message":7}`), true, "essage")
}

// TestNPM calls servers that npm has, in the versions of the lock file, over stdio.
func TestNPM(t *testing.T) {
	t.Run("everything", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, program(t, "mcp-server-everything"))
		everything(p)
		p.wants(p.do("get_roots_list", `{}`), false, p.dir)
	})
	t.Run("filesystem", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, program(t, "mcp-server-filesystem", "."))
		p.wants(p.do("write_file", `{"path":"a.txt","content":"one\ntwo\n"}`), false, "rote")
		p.wants(p.do("read_text_file", `{"path":"a.txt","head":1}`), false, "one")
		p.wants(p.do("list_directory", `{"path":"."}`), false, "[FILE] a.txt")
		p.wants(p.do("read_text_file", `{"path":"/etc/passwd"}`), true, "ccess denied")
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, program(t, "mcp-server-memory"))
		p.opts.Own[0].Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(p.dir, "memory.jsonl")}
		p.wants(p.do("create_entities", `{"entities":[{"name":"gate","entityType":"package","observations":["denies"]}]}`), false, "gate")
		p.wants(p.do("search_nodes", `{"query":"denies"}`), false, "gate")
		if err := p.End("ses_npm"); err != nil { // it is in its file: another session has it too
			t.Error(err)
		}
		p.wants(p.do("read_graph", `{}`), false, "gate")
	})
	t.Run("sequential-thinking", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, program(t, "mcp-server-sequential-thinking"))
		p.wants(p.do("sequentialthinking", `{"thought":"First.","thoughtNumber":1,"totalThoughts":2,"nextThoughtNeeded":true}`), false, `"thoughtHistoryLength": 1`)
	})
}

// TestNPMOverHTTP calls them over each transport of HTTP.
func TestNPMOverHTTP(t *testing.T) {
	for transport, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			port := serve(t, "PORT=0", "mcp-server-everything", transport)
			everything(newPlace(t, &mcpconfig.Server{Name: "npm", Transport: mcpconfig.HTTP, URL: "http://127.0.0.1:" + port + path, File: "test"}))
		})
	}
	t.Run("playwright", func(t *testing.T) {
		t.Parallel()
		port := serve(t, "PLAYWRIGHT_MCP_PORT=0", "playwright-mcp", browserArgs(t)...)
		browse(newPlace(t, &mcpconfig.Server{Name: "npm", Transport: mcpconfig.HTTP, URL: "http://localhost:" + port + "/mcp", File: "test"}))
	})
}

// browserArgs are the arguments for the machine's browser.
func browserArgs(t *testing.T) []string {
	t.Helper()
	path, err := chromium.Path()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--headless", "--isolated", "--no-sandbox", "--executable-path", path}
}

// browse has the browser open a page, use it, and take a picture.
func browse(p *place) {
	p.t.Helper()
	const page = "data:text/html,<title>Shop</title><h1>Offers</h1><button onclick='document.title=`Sold`'>Buy</button>"
	p.wants(p.do("browser_navigate", `{"url":`+strconv.Quote(page)+`}`), false, "Shop")
	snapshot := p.do("browser_snapshot", `{}`)
	p.wants(snapshot, false, `button "Buy"`)
	_, ref, _ := strings.Cut(snapshot.Text, `button "Buy" [ref=`)
	ref, _, _ = strings.Cut(ref, "]")
	p.wants(p.do("browser_click", `{"element":"Buy","target":`+strconv.Quote(ref)+`}`), false, "Sold")
	if r := p.do("browser_take_screenshot", `{}`); r.IsError || len(r.Pictures) != 1 {
		p.t.Errorf("a picture of the page: %d, %s", len(r.Pictures), r.Text)
	}
}

// TestPlaywright runs a browser in the sandbox of its server.
func TestPlaywright(t *testing.T) {
	browse(newPlace(t, program(t, "playwright-mcp", browserArgs(t)...)))
}

// serve starts a server over HTTP, which a variable has listen on a port of the system's choice, and returns
// the port once it is heard.
func serve(t *testing.T, variable, name string, args ...string) (port string) {
	t.Helper()
	cmd := exec.Command(fromNPM(t, name), args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), variable)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	ready, read := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(read)
		for in := bufio.NewScanner(said); in.Scan(); {
			fmt.Fprintln(&lines, in.Text())
			if port := heard(cmd.Process.Pid); port != "" { // once it has written that it listens
				ready <- port
				_, _ = io.Copy(io.Discard, said)
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	select {
	case port = <-ready:
	case <-read:
		t.Fatalf("%s does not serve: %s", name, &lines)
	case <-time.After(time.Minute):
		t.Fatalf("%s is not heard", name)
	}
	return port
}

// heard returns the port that a process listens on; empty means there is none. Servers say which one they were
// told, not which one they have.
func heard(pid int) string {
	folder := fmt.Sprintf("/proc/%d/", pid)
	fds, _ := os.ReadDir(folder + "fd") // none: the process has ended
	sockets := map[string]bool{}
	for _, fd := range fds {
		to, _ := os.Readlink(folder + "fd/" + fd.Name())
		sockets[to] = true
	}
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		text, _ := os.ReadFile(folder + table)
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // proc_net_tcp in the kernel's documentation; 0A is LISTEN
			if len(f) < 10 || f[3] != "0A" || !sockets["socket:["+f[9]+"]"] {
				continue
			}
			if port, err := strconv.ParseUint(f[1][strings.LastIndex(f[1], ":")+1:], 16, 16); err == nil {
				return strconv.FormatUint(port, 10)
			}
		}
	}
	return ""
}
