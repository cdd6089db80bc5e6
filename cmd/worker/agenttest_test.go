package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentworker/worker/cmd/worker/internal/agenttest"
)

// TestAgentCases: the examples pass from their recordings, without a key.
func TestAgentCases(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "agenttests"))); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, "junit.xml")
	code, out, output := command(t, nil, "test", "--dir", dir, "--junit", report, dir)
	if code != 0 || strings.Count(out, "ok    ") != 4 || !strings.Contains(out, "4 cases: 4 passed, 0 failed") {
		t.Fatalf("exit status %d: %s%s", code, out, output)
	}
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	data, err := os.ReadFile(report)
	var suites struct {
		Tests int `xml:"tests,attr"`
	}
	if err == nil {
		err = xml.Unmarshal(data, &suites)
	}
	if err != nil || suites.Tests != 4 {
		t.Errorf("the report: %v %s", err, data)
	}
}

const agentCase = `agent: general
prompt: read it
model: replay/script.jsonl
recording: recorded.json
files: {x.txt: hello}
permissions: {"*": allow}
expect:
  equals: 'hello'
  order: [read_file, shell_exec]
  changed: [made]
`

const agentScript = `{"toolCalls": [{"name": "read_file", "arguments": {"path": "x.txt"}}]}
{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "cd $PWD; pwd; date +%Y-%m-%dT%H:%M:%S; echo x >made"}}]}
{"text": "hello"}
`

// TestAgentRecording: what a run records is played strictly, in another place and at
// another time; a call that differs fails, and is said to.
func TestAgentRecording(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "case.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want int, args ...string) (agenttest.Verdict, string) {
		t.Helper()
		code, out, output := command(t, []string{"GITHUB_ACTIONS=true"}, append([]string{"test", "--dir", dir, "--json", file}, args...)...)
		var all struct{ Cases []agenttest.Verdict }
		if code != want || json.Unmarshal([]byte(out), &all) != nil && want < 2 {
			t.Fatalf("%v: exit status %d: %s%s", args, code, out, output)
		}
		if len(all.Cases) != 1 {
			return agenttest.Verdict{}, output
		}
		return all.Cases[0], output
	}
	write("case.yaml", agentCase)
	write("script.jsonl", agentScript)
	if v, _ := run(1); len(v.Failures) != 1 || v.Failures[0].Line != 4 || !strings.Contains(v.Failures[0].Message, "worker test --record") {
		t.Errorf("without a recording: %+v", v)
	}
	run(0, "--record")
	if v, _ := run(0, "--trials", "2"); v.Trials != 2 || v.Passes != 2 {
		t.Errorf("two trials: %+v", v)
	}
	write("script.jsonl", "") // nothing is asked any more
	if v, _ := run(0); !v.Passed || v.Tokens != 0 {
		t.Errorf("from the recording: %+v", v)
	}
	for name, change := range map[string][3]string{
		"a result": {"x.txt: hello", "x.txt: hallo", `call 2 of 3: message 3 differs: line 3 was "     1→hello" and is "     1→hallo"`},
		"a prompt": {"read it", "read that", `call 1 of 3: message 1 differs: line 2 was "read it" and is "read that"`},
		"an agent": {"general", "explore", `call 1 of 3: the system prompt differs: line 1 was "You are the agent \"general\"`},
	} {
		write("case.yaml", strings.Replace(agentCase, change[0], change[1], 1))
		v, output := run(1)
		if len(v.Failures) != 1 || !strings.Contains(v.Failures[0].Message, change[2]) {
			t.Errorf("%s: %+v, want %s", name, v, change[2])
		}
		if !strings.Contains(output, "\n::error file=") && !strings.HasPrefix(output, "::error file=") {
			t.Errorf("%s: no annotation: %s", name, output)
		}
	}
	write("case.yaml", "agent: general\nexpct: 1\n---\nprompt: x\nexpect:\n  matches: '('\n")
	_, output := run(2)
	for _, want := range []string{"case.yaml:2: unknown field expct", "case.yaml:4: agent is missing", "case.yaml:6: matches: "} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in %s", want, output)
		}
	}
}
