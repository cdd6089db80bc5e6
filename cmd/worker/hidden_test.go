//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/internal/secrets/secretstest"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/provider"
)

// hiddenPlan is a model that works with credentials which it does not read.
type hiddenPlan struct {
	mu   sync.Mutex
	step int
	read []string // the texts that it was sent
}

// answer is the next answer of the model.
func (p *hiddenPlan) answer(messages []modeltest.StrictMessage, tools bool) modeltest.StrictTurn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range messages {
		p.read = append(p.read, m.Text)
	}
	call := func(id, name, args string) modeltest.StrictCall {
		return modeltest.StrictCall{ID: id, Name: name, Arguments: args}
	}
	if !tools {
		return modeltest.StrictTurn{Text: "The key is [secret:GITHUB:1]."}
	}
	switch p.step++; p.step {
	case 1:
		return modeltest.StrictTurn{Text: "I read.", Calls: []modeltest.StrictCall{call("a", "read_file", `{"path":"notes.txt"}`)}}
	case 2:
		return modeltest.StrictTurn{Text: "I write.", Calls: []modeltest.StrictCall{
			call("b", "write_file", `{"path":"copy.txt","content":"k=[secret:GITHUB:1] p=[secret:GITHUB:2] u=[secret:GITHUB:77]"}`),
			call("c", "shell_exec", `{"command":"echo '[secret:GITHUB:1]' > shell.txt"}`),
			call("d", "grep", `{"pattern":"[secret:GITHUB:1]","path":"notes.txt"}`),
		}}
	case 3:
		return modeltest.StrictTurn{Refuse: "prompt is too long: This model's maximum context length is 16384 tokens. However, your messages resulted in 17000 tokens"}
	case 4:
		return modeltest.StrictTurn{Text: "The key is [secret:GITHUB:1]."}
	case 5:
		return modeltest.StrictTurn{Text: "Again.", Calls: []modeltest.StrictCall{call("e", "write_file", `{"path":"again.txt","content":"k=[secret:GITHUB:1]"}`)}}
	}
	return modeltest.StrictTurn{Text: "All of it is done."}
}

// TestMaskForModel: a model reads no credential, and file tools get it where the model writes its
// placeholder, also once the conversation was compacted and the process killed. Commands get the
// placeholder. A policy demands that, or the setting.
func TestMaskForModel(t *testing.T) {
	t.Parallel()
	key, other := "gh"+"p_"+secretstest.Repeat("a1B2c3D4", 36), "gh"+"p_"+secretstest.Repeat("z9Y8x7W6", 36)
	for _, test := range []struct {
		name, policy string
		args         []string
	}{
		{"setting", `{}`, []string{"--mask-for-model"}},
		{"policy", `{"maskForModel": true}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			testHidden(t, key, other, test.policy, test.args)
		})
	}
}

// testHidden has a model work with keys, and checks what it has read and done.
func testHidden(t *testing.T, key, other, policy string, args []string) {
	plan := &hiddenPlan{}
	strict := &modeltest.Strict{Answer: plan.answer}
	for _, family := range modeltest.Families {
		if family.Form == provider.Chat && family.Name == "azure" {
			strict.Family = family
		}
	}
	var sent bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		plan.mu.Lock()
		sent.Write(body)
		plan.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		strict.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		".agents/agents/works.md": "---\ndescription: Works.\nmodel: openai/gpt-4.1\nmaxSteps: 50\n---\nWork. My key is " + other + ".\n",
		"notes.txt":               "the key: " + key + "\n", "policy.jsonc": policy,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func() *servedProcess {
		p := startServing(t, dir, server.URL, append(args, "--model", "openai/gpt-4.1", "--model-retries", "0", "--allow", "shell_exec:*", "--policy", filepath.Join(dir, "policy.jsonc"))...)
		p.listens()
		return p
	}
	p := start()
	said := p.post("/v1/tasks", fmt.Sprintf(`{"description":"d","prompt":"Work with %s and no other.","agentType":"works"}`, key))
	var got struct{ Status, Text, SessionID string }
	if err := json.Unmarshal([]byte(said), &got); err != nil || got.Status != "completed" || !strings.Contains(got.Text, "The key is [secret:GITHUB:1].") {
		t.Fatalf("%s, %v\nrefused: %q", said, err, strict.Faults())
	}
	p.kill()
	p = start()
	p.post("/v1/tasks/send", fmt.Sprintf(`{"sessionId":%q,"message":"Go on."}`, got.SessionID))
	if said := p.post("/v1/tasks/wait", fmt.Sprintf(`{"sessionId":%q}`, got.SessionID)); !strings.Contains(said, "All of it is done.") {
		t.Fatalf("resumed, it ends with %s\nrefused: %q", said, strict.Faults())
	}
	plan.check(t, dir, sent.String(), key, other)
}

// check checks what was sent to the model, and the files that it has written.
func (p *hiddenPlan) check(t *testing.T, dir, sent, key, other string) {
	t.Helper()
	first, second := key, other
	if strings.Contains(sent, "My key is [secret:GITHUB:1].") { // the system prompt comes first
		first, second = other, key
	}
	for name, want := range map[string]string{
		"copy.txt": "k=" + first + " p=" + second + " u=[secret:GITHUB:77]", "again.txt": "k=" + first, "shell.txt": "[secret:GITHUB:1]\n",
	} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s has %q (%v), want %q", name, data, err, want)
		}
	}
	for _, credential := range []string{key, other} {
		if at := strings.Index(sent, credential[4:]); at >= 0 {
			t.Errorf("a credential was sent: …%s", sent[max(0, at-200):at+40])
		}
	}
	if read := strings.Join(p.read, "\n"); !strings.Contains(read, "the key: [secret:GITHUB:") || !strings.Contains(read, "Work with [secret:GITHUB:") {
		t.Errorf("the model has read %q", read)
	}
}
