package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/permissions"
)

const samples = "../../testdata/permission/"

// runPermission runs a "worker permission" command with stdin in a workspace
// below base, and returns what it writes, and the exit status.
func runPermission(t *testing.T, base string, stdin io.Reader, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	p := newProgram(&out, &errs, "HOME="+filepath.Join(base, "home"), "XDG_STATE_HOME="+filepath.Join(base, "state"), "XDG_CONFIG_HOME="+filepath.Join(base, "config"))
	p.Stdin = stdin
	status = p.run(t.Context(), append([]string{"permission", "--dir", filepath.Join(base, "ws")}, args...))
	return out.String(), errs.String(), status
}

// makeWorkspace makes a workspace and a home in a new folder, and runs setup in
// the workspace.
func makeWorkspace(t *testing.T, setup string) string {
	t.Helper()
	base := t.TempDir()
	for _, name := range []string{"ws", "home"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if setup == "" {
		return base
	}
	if strings.Contains(setup, "git ") {
		setup = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m root && " + setup
	}
	cmd := exec.Command("sh", "-c", setup)
	cmd.Dir = filepath.Join(base, "ws")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setup %q: %v\n%s", setup, err, out)
	}
	return base
}

// jsonLines decodes each line of text.
func jsonLines[T any](t *testing.T, text string) []T {
	t.Helper()
	var all []T
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

func readSample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(samples + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

type decisionLine struct {
	Action, Layer, Error, Reason string
	Rule                         *struct{ Tool, Pattern, Action string }
	Values                       []string
	Expected                     string
	MustBe                       string `json:"must_be"`
	MustNot                      string `json:"must_not_be"`
	Setup, Tool                  string
	Held                         []string
}

func TestEvalAgreesWithSample(t *testing.T) {
	text := readSample(t, "permission_sample.jsonl")
	out, errs, status := runPermission(t, makeWorkspace(t, ""), strings.NewReader(text), "eval")
	want, got := jsonLines[decisionLine](t, text), jsonLines[decisionLine](t, out)
	if status != int(cli.Done) || errs != "" || len(got) != len(want) {
		t.Fatalf("status %d, stderr %q, %d lines; want 0, nothing and %d", status, errs, len(got), len(want))
	}
	for i := range want {
		if got[i].Action != want[i].Expected {
			t.Errorf("line %d: got %s %s, want %s", i+1, got[i].Action, got[i].Error, want[i].Expected)
		}
		if (got[i].Rule == nil) != (got[i].Layer == "default") {
			t.Errorf("line %d: layer %s with rule %v", i+1, got[i].Layer, got[i].Rule)
		}
	}
}

func TestEvalShellAgreesWithSample(t *testing.T) {
	type line struct {
		Patterns, Always []string
	}
	text := readSample(t, "shell_sample.jsonl")
	out, errs, status := runPermission(t, makeWorkspace(t, ""), strings.NewReader(text), "eval", "--shell")
	want, got := jsonLines[line](t, text), jsonLines[line](t, out)
	if status != int(cli.Done) || errs != "" || len(got) != len(want) {
		t.Fatalf("status %d, stderr %q, %d lines; want 0, nothing and %d", status, errs, len(got), len(want))
	}
	for i := range want {
		if !slices.Equal(got[i].Patterns, want[i].Patterns) || !slices.Equal(got[i].Always, want[i].Always) {
			t.Errorf("line %d: got %q, want %q", i+1, got[i], want[i])
		}
	}
}

// What must not be let through, and what must: through the tools' own values,
// in a workspace of its own for each line.
func TestEvalInWorkspaces(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bypass_sample.jsonl", "harmless_sample.jsonl", "harmless2_sample.jsonl"} {
		for line := range strings.Lines(readSample(t, name)) {
			want := jsonLines[decisionLine](t, line)[0]
			out, errs, status := runPermission(t, makeWorkspace(t, want.Setup), strings.NewReader(line), "eval")
			got := jsonLines[decisionLine](t, out)
			if status != int(cli.Done) || len(got) != 1 || got[0].Error != "" {
				t.Errorf("%s: %s: status %d, got %s %s", name, line, status, out, errs)
				continue
			}
			held := want.Tool == "shell_exec" && len(got[0].Held) > 0 // by the sandbox
			if got[0].Action == want.MustNot && !held || want.MustBe != "" && got[0].Action != want.MustBe {
				t.Errorf("%s: %sgot %s", name, line, out)
			}
		}
	}
}

// TestEvalUnderPolicy: what gets round no rules of a user gets round none of a policy,
// with all that agents, users and answers can allow.
func TestEvalUnderPolicy(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(readSample(t, "bypass_sample.jsonl")) {
		want := jsonLines[decisionLine](t, line)[0]
		var call map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			t.Fatal(err)
		}
		call["policy"] = call["rules"]
		delete(call, "rules")
		call["agent"], call["static"], call["runtime"] = json.RawMessage(`{"*":"allow"}`), json.RawMessage(`{"*":"allow"}`), json.RawMessage(`[["*","*"],["*","/**"]]`)
		text, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		out, errs, status := runPermission(t, makeWorkspace(t, want.Setup), bytes.NewReader(text), "eval")
		got := jsonLines[decisionLine](t, out)
		if status != int(cli.Done) || len(got) != 1 || got[0].Error != "" {
			t.Errorf("%s: status %d, got %s %s", text, status, out, errs)
			continue
		}
		if held := want.Tool == "shell_exec" && len(got[0].Held) > 0; got[0].Action == want.MustNot && !held {
			t.Errorf("%s\ngot %s", text, out)
		}
	}
}

// A line is answered before the next one is written.
func TestEvalStreams(t *testing.T) {
	in, write := io.Pipe()
	read, out := io.Pipe()
	base := makeWorkspace(t, "")
	p := newProgram(out, io.Discard, "HOME="+base, "XDG_STATE_HOME="+base, "XDG_CONFIG_HOME="+base)
	p.Stdin = in
	status := make(chan int, 1)
	go func() {
		status <- p.run(t.Context(), []string{"permission", "eval", "--dir", filepath.Join(base, "ws")})
	}()
	answers := bufio.NewScanner(read)
	for _, c := range []struct{ line, want string }{
		{`{"static":{"a":"allow"},"tool":"a","values":[]}`, `{"action":"allow","layer":"static","rule":{"tool":"a","pattern":"*","action":"allow"},"values":["*"]}`},
		{`{"tool":"a"}`, `{"error":"line 2: want \"args\" or \"values\""}`},
		{`{"agent":[["a","deny"]],"tool":"a","values":["x"]}`, `{"action":"deny","layer":"agent","rule":{"tool":"a","pattern":"*","action":"deny"},"values":["x"]}`},
	} {
		if _, err := io.WriteString(write, c.line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() || answers.Text() != c.want {
			t.Fatalf("%s: got %s (%v), want %s", c.line, answers.Text(), answers.Err(), c.want)
		}
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != int(cli.Failed) {
		t.Errorf("status %d after a bad line, want %d", got, int(cli.Failed))
	}
}

// A line too long, one without an end and an interruption.
func TestEvalInput(t *testing.T) {
	base := makeWorkspace(t, "")
	good := `{"tool":"a","values":["x"]}`
	out, _, status := runPermission(t, base, strings.NewReader(strings.Repeat("x", permissions.MaxLine+1)+"\n\n"+good), "eval")
	lines := jsonLines[decisionLine](t, out)
	if status != int(cli.Failed) || len(lines) != 2 || !strings.HasPrefix(lines[0].Error, "line 1: the line is longer") || lines[1].Action != "ask" {
		t.Errorf("status %d, got %s", status, out)
	}
	for _, c := range []struct{ line, want string }{
		{"{", "line 1: unexpected end"},
		{`[]`, "line 1: json: cannot unmarshal array"},
		{`{"values":[]}`, `line 1: want "tool"`},
		{`{"tool":"a","values":[],"args":{}}`, `line 1: "values" replace "args"`},
		{`{"tool":"a","values":[1]}`, "line 1: json"},
		{`{"tool":"a","values":[],"static":{"a":"alow"}}`, `line 1: static:1:6: unknown action "alow"`},
		{`{"tool":"a","values":[],"agent":{"a":{"[z-a]":"deny"}}}`, "line 1: agent:1:7: rule a"},
		{`{"tool":"a","values":[],"runtime":[["a"]]}`, "line 1: runtime: want pairs"},
		{`{"tool":"a","values":[],"static":{},"rules":{}}`, `line 1: "rules" is another name`},
	} {
		out, _, status := runPermission(t, base, strings.NewReader(c.line), "eval")
		if lines := jsonLines[decisionLine](t, out); status != int(cli.Failed) || len(lines) != 1 || !strings.HasPrefix(lines[0].Error, c.want) {
			t.Errorf("%s: status %d, got %s, want %s", c.line, status, out, c.want)
		}
	}
	for _, c := range []struct{ line, action, layer string }{
		{`{"static":{"*":"allow"},"tool":"read_file","args":{"path":"../x"}}`, "deny", "tool"},
		{`{"static":{"*":"allow"},"tool":"read_file","args":{"file":"x"}}`, "deny", "tool"},
		{`{"static":{"*":"allow"},"tool":"task","args":{}}`, "deny", "tool"},
		{`{"static":{"task":{"explore":"allow"}},"tool":"task","args":{"agentType":"explore"}}`, "allow", "static"},
		{`{"static":{"mcp:x":{"a":"deny","*":"allow"}},"tool":"mcp:x","args":{"q":"a"}}`, "allow", "static"},
		{`{"rules":{"read_file":"allow"},"tool":"read_file","args":{"path":"x"}}`, "allow", "static"},
		{`{"static":null,"agent":null,"runtime":null,"tool":"read_file","args":{"path":"x"}}`, "ask", "default"},
	} {
		out, _, status := runPermission(t, base, strings.NewReader(c.line), "eval")
		if lines := jsonLines[decisionLine](t, out); status != int(cli.Done) || len(lines) != 1 || lines[0].Action != c.action || lines[0].Layer != c.layer {
			t.Errorf("%s: status %d, got %s, want %s by %s", c.line, status, out, c.action, c.layer)
		}
	}
}
