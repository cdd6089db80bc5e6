//go:build unix

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
	"github.com/agentworker/worker/session/record"
)

// TestTalk: a conversation on a terminal with a question, a turn that is stopped, pasted
// lines and another model; it goes on after a kill, with all that was said.
func TestTalk(t *testing.T) {
	play, err := replaymodel.Parse([]byte(`
{"match": {"user": "delegate it"}, "text": "I ask two. ", "toolCalls": [{"name": "task", "arguments": {"description": "wait", "prompt": "hang please", "agentType": "explore"}}, {"name": "task", "arguments": {"description": "make it", "prompt": "ask please", "agentType": "general"}}]}
{"match": {"user": "hang please"}, "text": "\u001b[2Jthinking", "hang": true}
{"match": {"user": "ask please"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "touch made"}}]}
{"match": {"user": "ask please"}, "text": "I have made it."}
{"match": {"user": "of two lines"}, "text": ["I have read ", "both.\n- one\n- two"]}
{"match": {"user": "third"}, "text": "From the other one."}
{"match": {"user": "fourth"}, "text": "I remember."}
`))
	if err != nil {
		t.Fatal(err)
	}
	server := modeltest.Start(play, nil)
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	args := []string{"run", "-i", "--openai-base-url", server.URL + "/v1", "--model", "openai/first", "--model-timeout", "30m"}

	s := onScreen(t, dir, 80, 24, args...)
	s.sees(`primary on openai/first\. /help lists the commands`)
	s.types("delegate it" + keyEnter)
	s.sees(`I ask two\.(?s:.*)general asks to run a command(?s:.*)touch made(?s:.*)explore  wait(?s:.*)\[y\] yes`)
	s.types("y" + keyEnter)
	s.sees(`general  make it  completed(?s:.*)explore  wait`)
	s.types(keyCtrlC)
	s.sees(`explore  wait  cancelled(?s:.*)stopped`)
	s.resize(50, 15)
	s.types("\x1b[200~a text\nof two lines\x1b[201~" + keyEnter)
	s.sees(`> a text *\n  of two lines *\nI have read both\. *\n- one *\n- two *\n *\n>`)
	s.types("/model openai/second" + keyEnter)
	s.sees(`the next turns run on openai/second`)
	s.types("third" + keyEnter)
	s.sees(`> third *\nFrom the other one\. *\n *\n>`)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.end

	id := newestOf(t, dir, "primary")
	s = onScreen(t, dir, 80, 24, append(args, "--resume", id)...)
	s.sees(`It goes on with session ` + id + `\. *\n(?s:.*)> third *\n *\n *From the other one\.`)
	s.types("fourth" + keyEnter)
	s.sees(`I remember\. *\n *\n>`)
	s.types(keyCtrlD)
	if raw := s.ended(0); !strings.Contains(raw, "'worker run -i --resume "+record.ResumedID(id)+" --model=openai/first --model-timeout=30m0s --openai-base-url=") || !strings.Contains(raw, "' resumes this conversation") {
		t.Errorf("it does not say how to resume with the same flags: %q", raw)
	}
	for _, output := range []string{"delegate it", `a text\nof two lines`, "From the other one.", "fourth"} {
		sent := server.Received()
		if body := string(sent[len(sent)-1].Body); !strings.Contains(body, output) {
			t.Errorf("the last request lacks %q: %s", output, body)
		}
	}
}

// newestOf returns the id of the newest session of an agent.
func newestOf(t *testing.T, dir, agent string) string {
	t.Helper()
	path, err := exec.LookPath("worker")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command(path, "sessions", "list", "--all", "--json")
	list.Dir, list.Env = dir, environOf(dir)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var records []record.Record
	if err := json.Unmarshal(out, &records); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Agent == agent {
			return r.ID
		}
	}
	t.Fatalf("there is no session of %s in %s", agent, filepath.Base(dir))
	return ""
}
