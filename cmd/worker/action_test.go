package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"gopkg.in/yaml.v3"
)

// action is action.yml, as far as the test knows it.
type action struct {
	Inputs map[string]struct{ Description, Default string }
	Runs   struct {
		Using string
		Steps []struct {
			ID, Shell, Run, Uses, If string
			Env                      map[string]string
			With                     map[string]string
		}
	}
}

// play runs the steps of an action as a runner does: the text of a step in its shell, what
// the inputs hold in its environment. It returns the output of all, and the exit status of
// the last one.
func (a *action) play(t *testing.T, dir string, inputs map[string]string) (output string, status int) {
	t.Helper()
	for _, step := range a.Runs.Steps {
		if step.Uses != "" { // of the runner
			continue
		}
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CI=true", "GITHUB_ACTIONS=true", "HOME="+dir, "XDG_STATE_HOME="+dir+"/state",
			"RUNNER_TEMP="+dir+"/temp", "GITHUB_OUTPUT="+dir+"/output", "GITHUB_STEP_SUMMARY="+dir+"/summary")
		for name, value := range step.Env {
			if input, ok := strings.CutPrefix(value, "${{ inputs."); ok {
				input = strings.TrimSuffix(input, " }}")
				value = inputs[input]
				if _, given := inputs[input]; !given {
					value = a.Inputs[input].Default
				}
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		output += string(out)
		if err != nil {
			return output, cmd.ProcessState.ExitCode()
		}
	}
	return output, 0
}

// readAction reads action.yml.
func readAction(t *testing.T) action {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(data, &a); err != nil || a.Runs.Using != "composite" || len(a.Runs.Steps) != 3 {
		t.Fatalf("action.yml: %v, %+v", err, a)
	}
	return a
}

// TestActionInputs: inputs reach the steps by variables, never as a part of their text, and
// each input is used.
func TestActionInputs(t *testing.T) {
	a := readAction(t)
	input := regexp.MustCompile(`^\$\{\{ (?:inputs\.([a-z]+)|github\.action_path) \}\}$`)
	used := make(map[string]bool)
	for _, step := range a.Runs.Steps {
		if step.Uses != "" {
			used["cache"] = strings.Contains(step.If, "inputs.cache == 'true'")
			continue
		}
		if strings.Contains(step.Run, "${{") || step.Shell != "bash" {
			t.Errorf("the step %s has an input in its text, or no shell", step.ID)
		}
		for name, value := range step.Env {
			m := input.FindStringSubmatch(value)
			if name == "RELEASES" {
				continue
			}
			if m == nil {
				t.Errorf("%s of the step %s is %q", name, step.ID, value)
				continue
			}
			used[m[1]] = true
		}
	}
	for name := range a.Inputs {
		if !used[name] {
			t.Errorf("the input %s is not used", name)
		}
	}
}

// TestAction: the action runs a task, test cases and a check, and no input is a part of
// what a shell runs.
func TestAction(t *testing.T) {
	a := readAction(t)
	worker, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write("script.jsonl", `{"text": "a.txt:1 is empty\n::add-mask::x"}`)
	write("a.txt", "\n")
	const prompt = "-x'\"\n$(touch pwned) `touch pwned`\n::error::no"
	output, status := a.play(t, dir, map[string]string{"worker": worker, "agent": "general", "prompt": prompt, "model": "replay/script.jsonl"})
	var result struct{ Text string }
	if err := json.Unmarshal([]byte(read("temp/agentworker/result.json")), &result); err != nil || status != 0 || !strings.HasPrefix(result.Text, "a.txt:1") {
		t.Errorf("task: exit status %d, %v, %+v: %s", status, err, result, output)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a part of the prompt was run")
	}
	if !strings.Contains(output, "\n::warning file=a.txt,line=1,") || strings.Count("\n"+output, "\n::") != 1 {
		t.Errorf("task has printed: %s", output)
	}
	if got := read("output"); !strings.Contains(got, "status=0\n") || !strings.Contains(got, "junit=") || !strings.Contains(read("summary"), "worker task `general`: done") {
		t.Errorf("task: the outputs are %s", got)
	}
	write("a b/case.yaml", "agent: general\nprompt: x\nmodel: replay/../script.jsonl\nexpect: {contains: full}\n")
	output, status = a.play(t, dir, map[string]string{"worker": worker, "run": "test", "paths": "a b\n"})
	if status != 1 || !strings.Contains(output, "::error file=a b/case.yaml,line=4,title=case::the answer does not contain") {
		t.Errorf("test: exit status %d: %s", status, output)
	}
	write(".agents/agents/broken.md", "---\nname: [\n---\n")
	output, status = a.play(t, dir, map[string]string{"worker": worker, "run": "lint"})
	if status != 1 || !strings.Contains(output, "::error file=.agents/agents/broken.md,line=") {
		t.Errorf("lint: exit status %d: %s", status, output)
	}
	if output, status = a.play(t, dir, map[string]string{"worker": worker, "run": "$(touch pwned)"}); status != 2 {
		t.Errorf("another command: exit status %d: %s", status, output)
	}
}

// TestActionRules: what a task may do comes from the inputs, and the job is red or green by it.
func TestActionRules(t *testing.T) {
	a := readAction(t)
	worker, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"script.jsonl": `{"toolCalls": [{"name": "shell_exec", "arguments": {"command": "git diff --stat"}}]}` + "\n" + `{"text": "done"}`,
		"ci.jsonc":     `{"shell_exec": {"git diff *": "allow"}}`, ".agents/permissions.jsonc": `{"shell_exec": {"git diff *": "allow"}}`,
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		inputs map[string]string
		want   int
	}{
		{nil, 3},
		{map[string]string{"allow": "shell_exec:git log *\nshell_exec:git diff *\n"}, 0},
		{map[string]string{"allow": "shell_exec:git log *"}, 3},
		{map[string]string{"permissions": "ci.jsonc"}, 0},
		{map[string]string{"trust": "true"}, 0},
		{map[string]string{"trust": "yes"}, 3},
		{map[string]string{"budget": "modelCalls=1", "trust": "true"}, 4},
		{map[string]string{"allow": "$(touch pwned)"}, 2}, // no tool has that name
		{map[string]string{"allow": "shell_exec:$(touch pwned)"}, 3},
	} {
		inputs := map[string]string{"worker": worker, "agent": "general", "prompt": "x", "model": "replay/script.jsonl"}
		maps.Copy(inputs, tt.inputs)
		if output, status := a.play(t, dir, inputs); status != tt.want {
			t.Errorf("%v: exit status %d, want %d: %s", tt.inputs, status, tt.want, output)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a part of an input was run")
	}
}

// TestActionInstall: the action installs a release that is what its checksums say, once.
func TestActionInstall(t *testing.T) {
	a := readAction(t)
	script := "#!/bin/sh\necho installed \"$@\"\n"
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	entries := tar.NewWriter(packed)
	header := &tar.Header{Name: "worker", Mode: 0o755, Size: int64(len(script)), Typeflag: tar.TypeReg}
	_, err := io.WriteString(writeHeader{entries, header}, script)
	if err := errors.Join(err, entries.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive.Bytes())
	var asked atomic.Int32
	release := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch name := path.Base(r.URL.Path); {
		case name == "checksums.txt" && strings.HasPrefix(r.URL.Path, "/v9.9.9/"):
			fmt.Fprintf(w, "%s  worker_9.9.9_linux_amd64.tar.gz\n", strings.Repeat("0", 64))
		case name == "checksums.txt":
			fmt.Fprintf(w, "%x  worker_1.2.3_linux_amd64.tar.gz\n%x  worker_1.2.3_linux_arm64.tar.gz\n", sum, sum)
		case strings.HasPrefix(r.URL.Path, "/v0.0.0/"):
			http.NotFound(w, r)
		default:
			_, _ = w.Write(archive.Bytes())
		}
	}))
	defer release.Close()
	for i := range a.Runs.Steps {
		if env := a.Runs.Steps[i].Env; env["RELEASES"] != "" {
			env["RELEASES"] = release.URL
		}
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		version string
		status  int
		says    string
	}{
		{"9.9.9", 1, "is not what checksums.txt of the release says"},
		{"0.0.0", 22, ""}, // curl's
		{"1.2.3; touch pwned", 2, "the input version is a number"},
		{"v1.2.3", 0, ""},
		{"1.2.3", 0, ""}, // it is there
	} {
		before := asked.Load()
		output, status := a.play(t, dir, map[string]string{"version": tt.version, "agent": "x", "prompt": "y"})
		if status != tt.status || !strings.Contains(output, tt.says) {
			t.Errorf("%s: exit status %d, want %d: %s", tt.version, status, tt.status, output)
		}
		if tt.version == "1.2.3" && asked.Load() != before {
			t.Error("what is installed was fetched again")
		}
	}
	if result, err := os.ReadFile(filepath.Join(dir, "temp/agentworker/result.json")); err != nil || !strings.HasPrefix(string(result), "installed task --ci") {
		t.Errorf("the program that ran: %q, %v", result, err)
	}
}

// writeHeader writes an entry of an archive.
type writeHeader struct {
	to     *tar.Writer
	header *tar.Header
}

func (w writeHeader) Write(p []byte) (int, error) {
	if err := w.to.WriteHeader(w.header); err != nil {
		return 0, err
	}
	return w.to.Write(p)
}
