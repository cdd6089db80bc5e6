//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/provider"
)

// strictSteps are the steps of a conversation in TestStrictServers, and what happens at some of them.
const (
	strictSteps   = 200
	interruptedAt = 40
	tooLongAt     = 90
	answeredAt    = 120 // then the worker is started anew, and the session resumed
	tooLongAgain  = 150
	forkedAt      = 160
)

// strictPlan is what a strict server's model does.
type strictPlan struct {
	agent string
	begun chan struct{} // gets a value when the answer that is interrupted has begun

	mu          sync.Mutex
	step, child int // answers so far
}

// answer is the next answer of the model, with calls that no server would take back as they are.
func (p *strictPlan) answer(messages []modeltest.StrictMessage, tools bool) modeltest.StrictTurn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !tools {
		return modeltest.StrictTurn{Text: "A summary of it."}
	}
	for _, m := range messages {
		if m.Role == "user" && strings.Contains(m.Text, "You are the child.") {
			if p.child++; p.child > 3 {
				return modeltest.StrictTurn{Text: "The child is done."}
			}
			return modeltest.StrictTurn{Text: "I look.", Calls: p.calls(1000 + p.child)}
		}
	}
	p.step++
	switch n := p.step; n {
	case interruptedAt:
		return modeltest.StrictTurn{Text: "I am about to", Hang: p.begun}
	case tooLongAt, tooLongAgain:
		return modeltest.StrictTurn{Refuse: "prompt is too long: This model's maximum context length is 16384 tokens. However, your messages resulted in 17000 tokens"}
	case answeredAt:
		return modeltest.StrictTurn{Text: "Half of it is done."}
	case forkedAt:
		return modeltest.StrictTurn{Text: "I fork.", Calls: []modeltest.StrictCall{{ID: "forked", Name: "task",
			Arguments: fmt.Sprintf(`{"description":"d","prompt":"You are the child.","agentType":%q,"forkContext":1000}`, p.agent)}}}
	case strictSteps:
		return modeltest.StrictTurn{Text: "All of it is done."}
	default:
		return modeltest.StrictTurn{Text: "Step.", Calls: p.calls(n)}
	}
}

// calls are parallel calls, some of them odd.
func (p *strictPlan) calls(n int) (all []modeltest.StrictCall) {
	for i := range 1 + n%3 {
		call := modeltest.StrictCall{ID: fmt.Sprintf("call_%d_%d", n, i), Name: "glob", Arguments: fmt.Sprintf(`{"pattern":"none-%d-%d*"}`, n, i)}
		switch n % 11 {
		case 3:
			call.Name = "read file!" + strings.Repeat("x", n)
		case 5:
			call.Arguments = `{"pattern":"none`
		case 7:
			call.ID = fmt.Sprintf("again_%d", i)
		case 8:
			call.ID = ""
		case 9:
			call.ID = fmt.Sprintf("functions.glob:%d-%d/%s", n, i, strings.Repeat("y", 50))
		case 10:
			call.Arguments = fmt.Sprintf(`["none-%d-%d"]`, n, i)
		}
		all = append(all, call)
	}
	return all
}

// TestStrictServers has a worker hold long conversations with the strictest server of each family of
// providers. They have parallel calls and odd ones, an interrupt, summaries since the window is full, a
// resume by another process, and a fork.
func TestStrictServers(t *testing.T) {
	t.Parallel()
	hosts := map[string]string{
		"anthropic": "ANTHROPIC_BASE_URL=http://api.anthropic.com", "azure": "AZURE_OPENAI_BASE_URL=http://corp.openai.azure.com/openai/v1",
		"gemini": "GEMINI_BASE_URL=http://generativelanguage.googleapis.com/v1beta/openai", "deepseek": "DEEPSEEK_BASE_URL=http://api.deepseek.com",
		"openrouter": "OPENROUTER_BASE_URL=http://openrouter.ai/api/v1", "mistral": "MISTRAL_BASE_URL=http://api.mistral.ai/v1",
		"openai": "OPENAI_BASE_URL=http://api.openai.com/v1",
		"groq":   "GROQ_BASE_URL=http://api.groq.com/openai/v1", "together": "TOGETHER_BASE_URL=http://api.together.xyz/v1",
	}
	for _, family := range modeltest.Families {
		name := family.Name + "/some-model"
		if family.Form == provider.Responses {
			name = family.Name + "/gpt-5.5"
		}
		t.Run(family.Name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{}, 1)
			plan := &strictPlan{agent: family.Name, begun: begun}
			strict := &modeltest.Strict{Family: family, Answer: plan.answer}
			proxy := httptest.NewServer(strict)
			t.Cleanup(proxy.Close)
			variable, _, _ := strings.Cut(hosts[family.Name], "_BASE_URL=")
			environ := []string{hosts[family.Name], variable + "_API_KEY=k", "HTTP_PROXY=" + proxy.URL}

			dir := t.TempDir()
			agents := filepath.Join(dir, ".agents", "agents")
			if err := os.MkdirAll(agents, 0o700); err != nil {
				t.Fatal(err)
			}
			file := fmt.Sprintf("---\ndescription: Works.\nmodel: %s\nmaxSteps: 400\npermission:\n  task: allow\n---\nWork.\n", name)
			if err := os.WriteFile(filepath.Join(agents, family.Name+".md"), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			start := func() *servedProcess {
				p := startServingIn(t, dir, environ, "--model", name, "--model-retries", "0", "--max-depth", "3")
				p.listens()
				return p
			}
			p := start()
			var accepted struct{ SessionID string }
			said := p.post("/v1/tasks", fmt.Sprintf(`{"description":"d","prompt":"Work.","agentType":%q,"background":true}`, family.Name))
			if err := json.Unmarshal([]byte(said), &accepted); err != nil || accepted.SessionID == "" {
				t.Fatalf("%s, %v", said, err)
			}
			wait := fmt.Sprintf(`{"sessionId":%q}`, accepted.SessionID)
			ended := make(chan string, 1)
			go func() { ended <- p.post("/v1/tasks/wait", wait) }()
			select {
			case <-begun:
			case said := <-ended:
				t.Fatalf("it ends early with %s\nrefused: %q", said, strict.Faults())
			}
			p.post("/v1/tasks/send", fmt.Sprintf(`{"sessionId":%q,"message":"Look at this first.","interrupt":true}`, accepted.SessionID))
			if said := <-ended; !strings.Contains(said, "Half of it is done.") {
				t.Fatalf("it ends with %s\nrefused: %q", said, strict.Faults())
			}
			p.signal(syscall.SIGTERM)
			p.ends(0)
			p = start()
			p.post("/v1/tasks/send", fmt.Sprintf(`{"sessionId":%q,"message":"Go on."}`, accepted.SessionID))
			if said := p.post("/v1/tasks/wait", wait); !strings.Contains(said, "All of it is done.") {
				t.Fatalf("resumed, it ends with %s\nrefused: %q", said, strict.Faults())
			}
			plan.mu.Lock()
			defer plan.mu.Unlock()
			if faults := strict.Faults(); len(faults) > 0 || plan.step != strictSteps || plan.child != 4 {
				t.Errorf("%d steps, %d of the child, refused: %q", plan.step, plan.child, faults)
			}
		})
	}
}
